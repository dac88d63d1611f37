import { z } from "zod";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Converts zod schemas. Those that have an id become components, which others refer to. */
export interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** @param io the side that is described: what a client writes (default), or what is read from it */
  readonly schema: (schema: z.ZodType, io?: "input" | "output") => JsonSchema;
}

export function createComponents(): Components {
  const schemas: Record<string, JsonSchema> = {};
  return {
    schemas,
    schema(schema, io = "input") {
      const converted = z.toJSONSchema(schema, {
        target: "draft-2020-12",
        unrepresentable: "any",
        io,
      });
      const { $schema: _dialect, $defs, ...rest } = inComponents(converted);
      Object.assign(schemas, $defs);
      return rest;
    },
  };
}

const inComponents = (schema: object) =>
  JSON.parse(
    JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as JsonSchema;
