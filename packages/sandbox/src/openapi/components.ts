import { z } from "zod";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Creates a parameter of an operation or a delivery. Moves its description and assumption out of the schema. */
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

/** Converts zod schemas. Schemas with an id become components, to which the others refer. */
export function createComponents() {
  const schemas: Record<string, JsonSchema> = {};
  return {
    schemas,
    /** Converts a schema. @param io the side of the schema to describe: its input (default) or its parsed output */
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
