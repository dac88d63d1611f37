import { z } from "zod";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Creates a parameter of an operation or a webhook. Moves the schema's description and assumption to the parameter. */
export const parameter = (
  name: string,
  place: "header" | "query",
  required: boolean,
  { description, "x-assumption": assumption, ...schema }: JsonSchema,
) => ({
  name,
  in: place,
  required,
  ...(description === undefined ? {} : { description }),
  ...(assumption === undefined ? {} : { "x-assumption": assumption }),
  schema,
});

/**
 * Creates a converter from zod schemas to JSON schemas. A schema with an id becomes a component, and each use of it
 * becomes a reference.
 */
export function createComponents() {
  const schemas: Record<string, JsonSchema> = {};
  return {
    schemas,
    /** Converts a schema. @param io whether to describe the schema's input (the default) or its parsed output */
    schema(schema: z.ZodType, io: "input" | "output" = "input"): JsonSchema {
      const converted = z.toJSONSchema(schema, { unrepresentable: "any", io });
      const { $schema: _dialect, $defs, ...rest } = inComponents(converted);
      Object.assign(schemas, $defs);
      return rest;
    },
  };
}

export type Components = ReturnType<typeof createComponents>;

const inComponents = (schema: object) =>
  JSON.parse(
    JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as JsonSchema;
