import { check } from "./check.js";
import type { EventSchemas } from "./events.js";
import type { StandardSchemaV1 } from "./standard-schema.js";

/** Schemas by event type. */
export type Schemas = ReadonlyMap<string, StandardSchemaV1>;

/** @throws ReceiverConfigError `invalid_option` */
export function readSchemas(events: EventSchemas): Schemas {
  check(typeof events === "object" && events !== null, "events", "an object of schemas");
  const schemas = Object.entries(events);
  for (const [type, schema] of schemas) {
    const isSchema = typeof schema?.["~standard"]?.validate === "function";
    check(isSchema, `events[${JSON.stringify(type)}]`, "a Standard Schema");
  }
  return new Map(schemas);
}
