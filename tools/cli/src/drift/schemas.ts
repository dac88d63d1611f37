import type { EventSchemas, StandardSchemaV1 } from "@svc-webhooks/core";
import { UsageError } from "../errors.js";
import { exportersOf, loadModule } from "../lib/module.js";
import type { JsonSchema } from "./json-schema.js";

/** The schemas with which captured events are compared. */
export interface Schemas {
  readonly byType: ReadonlyMap<string, StandardSchemaV1>;
  /** Whether an optional field counts as missing if it is absent. */
  readonly areFieldsExpected: boolean;
}

/**
 * Resolves to the schemas of a module, or to those of `svc-webhooks/events`.
 *
 * @throws UsageError for a module that does not exist or exports no schemas, Failure for a module that cannot be
 *   imported, and the reason of `signal` (as rejections)
 */
export async function schemasOf(file: string | undefined, signal: AbortSignal): Promise<Schemas> {
  if (file === undefined) {
    const { emailEvents } = await import("@svc-webhooks/events");
    return { byType: new Map(Object.entries(emailEvents)), areFieldsExpected: true };
  }
  const example =
    "Pass the module that exports the object that you pass to createReceiver as events.";
  const module = await loadModule("--schemas", file, "schemas_failed", example, signal);
  const exporters = exportersOf(module);
  const all = exporters.flatMap((exports) => Object.values(exports)).filter(isSchemas);
  // Includes the exports themselves, because a module may export each schema under the name of its type.
  const byType = [...exporters, ...all].flatMap((candidate) =>
    Object.entries(candidate).filter(([, schema]) => isSchema(schema)),
  ) as readonly (readonly [string, StandardSchemaV1])[];
  if (byType.length > 0) return { byType: new Map(byType), areFieldsExpected: false };
  throw new UsageError(
    `--schemas ${file} exports no schemas.`,
    'Export an object of Standard Schemas by event type: export const events = { "email.sent": … };',
  );
}

const isSchema = (value: unknown): value is StandardSchemaV1 =>
  typeof (Object(value) as Partial<StandardSchemaV1>)["~standard"]?.validate === "function";

const isSchemas = (value: unknown): value is EventSchemas =>
  typeof value === "object" &&
  value !== null &&
  !isSchema(value) &&
  Object.keys(value).length > 0 &&
  Object.values(value).every(isSchema);

/** The Standard JSON Schema interface (standardschema.dev/json-schema), which some schemas implement. */
interface WithJsonSchema {
  readonly jsonSchema?: { readonly input?: (options: object) => unknown };
}

/** Returns the JSON Schema of the values that a schema accepts, or undefined if the schema cannot describe itself. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonSchema | undefined {
  const { jsonSchema } = schema["~standard"] as WithJsonSchema;
  for (const libraryOptions of [undefined, { unrepresentable: "any" }]) {
    try {
      const description = jsonSchema?.input?.({ target: "draft-2020-12", libraryOptions });
      if (typeof description === "object" && description !== null) return description;
    } catch {
      // If a part such as a date has no JSON Schema, the second attempt allows any value for that part.
    }
  }
  return undefined;
}
