import type { EventSchemas } from "../events.js";
import { assertOption } from "../lib/assert.js";
import { isObject } from "../lib/is-object.js";
import type { StandardSchemaV1 } from "../standard-schema.js";

/** Schemas by event type. */
export type Schemas = ReadonlyMap<string, StandardSchemaV1>;

/** @throws ReceiverConfigError `invalid_option` */
export function parseSchemas(events: EventSchemas): Schemas {
  assertOption(isObject(events), "invalid_option", "events", events);
  const schemas = Object.entries(events);
  for (const [type, schema] of schemas) {
    const isSchema = typeof schema?.["~standard"]?.validate === "function";
    assertOption(isSchema, "invalid_option", `events[${JSON.stringify(type)}]`, schema);
  }
  return new Map(schemas);
}
