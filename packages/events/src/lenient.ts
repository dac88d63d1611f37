import { z } from "zod/v4";

/** Makes a field optional. A value of the wrong type is treated as absent, so it never makes an event invalid. */
export const maybe = <Schema extends z.ZodType>(
  schema: Schema,
): z.ZodCatch<z.ZodOptional<Schema>> => schema.optional().catch(undefined);

/** Accepts a string, and treats any other value as absent. */
export const maybeText: z.ZodCatch<z.ZodOptional<z.ZodString>> = maybe(z.string());
