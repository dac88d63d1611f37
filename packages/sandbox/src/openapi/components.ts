import { z } from "zod";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A parameter of an operation or a delivery: its description and assumption are its own, not its schema's. */
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

/** Converts zod schemas. Those that have an id become components, which others refer to. */
export function createComponents() {
  const schemas: Record<string, JsonSchema> = {};
  return {
    schemas,
    /** @param io the side that is described: what a client writes (default), or what is read from it */
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
