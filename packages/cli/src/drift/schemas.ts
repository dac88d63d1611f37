import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { EventSchemas, StandardSchemaV1 } from "@svc-webhooks/core";
import { UsageError } from "../errors.js";
import { importError } from "../lib/module.js";
import type { JsonSchema } from "./json-schema.js";

/** The schemas that captures are compared with. */
export interface Schemas {
  readonly byType: ReadonlyMap<string, StandardSchemaV1>;
  /** Whether a field that is optional counts as missing if it is absent. */
  readonly areFieldsExpected: boolean;
}

/**
 * Resolves to the schemas of a module, or to those of `@svc-webhooks/events`.
 *
 * @throws UsageError (as a rejection) if the module does not exist, cannot be imported or exports no schemas
 */
export async function schemasOf(file: string | undefined): Promise<Schemas> {
  if (file === undefined) {
    const { emailEvents } = await import("@svc-webhooks/events");
    return { byType: new Map(Object.entries(emailEvents)), areFieldsExpected: true };
  }
  const path = resolve(file);
  if (!existsSync(path)) {
    throw new UsageError(
      `--schemas ${file} does not exist.`,
      "Pass the module that exports what you pass to createReceiver as events.",
    );
  }
  const exported = await imported(file, path);
  const all = Object.values(exported).filter(isSchemas);
  // A module may also export each schema under the name of its type.
  const byType = [exported, ...all].flatMap((one) =>
    Object.entries(one).filter(([, schema]) => isSchema(schema)),
  ) as readonly (readonly [string, StandardSchemaV1])[];
  if (byType.length > 0) return { byType: new Map(byType), areFieldsExpected: false };
  throw new UsageError(
    `--schemas ${file} exports no schemas.`,
    'Export an object of Standard Schemas by event type: export const events = { "email.sent": … };',
  );
}

async function imported(file: string, path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return { ...((await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>) };
  } catch (error) {
    throw new UsageError(...importError("--schemas", file, error));
  }
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

/** Returns the JSON Schema of what a schema accepts, or undefined if it cannot describe itself. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonSchema | undefined {
  const { jsonSchema } = schema["~standard"] as WithJsonSchema;
  for (const libraryOptions of [undefined, { unrepresentable: "any" }]) {
    try {
      const made = jsonSchema?.input?.({ target: "draft-2020-12", libraryOptions });
      if (typeof made === "object" && made !== null) return made;
    } catch {
      // A part such as a date has no JSON Schema. The next options leave it open.
    }
  }
  return undefined;
}
