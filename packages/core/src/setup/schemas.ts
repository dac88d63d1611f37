import type { EventSchemas } from "../events.js";
import { assertOption } from "../lib/assert.js";
import type { StandardSchemaV1 } from "../standard-schema.js";

/** Schemas by event type. */
export type Schemas = ReadonlyMap<string, StandardSchemaV1>;

/** @throws ReceiverConfigError `invalid_option` */
export function parseSchemas(events: EventSchemas): Schemas {
  assertOption(
    typeof events === "object" && events !== null,
    "invalid_option",
    "events",
    "events must be an object of schemas.",
  );
  const schemas = Object.entries(events);
  for (const [type, schema] of schemas) {
    const isSchema = typeof schema?.["~standard"]?.validate === "function";
    const option = `events[${JSON.stringify(type)}]`;
    assertOption(isSchema, "invalid_option", option, `${option} must be a Standard Schema.`);
  }
  return new Map(schemas);
}
