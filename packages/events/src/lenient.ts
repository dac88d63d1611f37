import { z } from "zod";

/** What may be there; anything of another type counts as not there, and never makes an event invalid. */
export const maybe = <Schema extends z.ZodType>(
  schema: Schema,
): z.ZodCatch<z.ZodOptional<Schema>> => schema.optional().catch(undefined);

/** A field that holds text, if it does. */
export const maybeText: z.ZodCatch<z.ZodOptional<z.ZodString>> = maybe(z.string());
