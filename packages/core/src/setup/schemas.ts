import type { EventSchemas } from "../events.js";
import type { StandardSchemaV1 } from "../standard-schema.js";
import { assertOption } from "../texts/assert.js";

/** Schemas by event type. */
export type Schemas = ReadonlyMap<string, StandardSchemaV1>;

/**
 * Validates the option `events` and returns the schemas by event type.
 *
 * @throws ConfigError `invalid_option`
 */
export function parseSchemas(events: EventSchemas): Schemas {
  const schemas = Object.entries(events);
  for (const [type, schema] of schemas) {
    const isSchema = typeof schema?.["~standard"]?.validate === "function";
    assertOption(isSchema, "invalid_option", `events[${JSON.stringify(type)}]`, schema);
  }
  return new Map(schemas);
}
