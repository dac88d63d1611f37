import type { StandardSchemaIssue, StandardSchemaV1 } from "@svc-webhooks/core";
import {
  absentIn,
  differencesOf,
  pathIn,
  typeOf,
  type Difference,
  type JsonSchema,
} from "./json-schema.js";
import { jsonSchemaOf } from "./schemas.js";

export interface Compared {
  readonly differences: readonly Difference[];
  /** Whether new fields can be found: there is a JSON Schema, or the schema refuses or removes an undeclared field. */
  readonly isChecked: boolean;
}

/** Compares an event with one schema. Resolves to undefined if the event is nested too deeply. */
export type Comparison = (event: unknown) => Promise<Compared | undefined>;

/**
 * Returns a function that compares events with a schema. It uses the issues that the schema reports, and its JSON
 * Schema if it has one. If there is neither, it compares the event with the schema's output, which may lack fields.
 *
 * @param areFieldsExpected whether an absent optional field counts as missing. Has no effect without a JSON Schema
 */
export function comparisonWith(schema: StandardSchemaV1, areFieldsExpected: boolean): Comparison {
  const described = jsonSchemaOf(schema);
  const compare = async (event: unknown): Promise<Compared> => {
    const structure = described
      ? [
          ...differencesOf(event, described),
          ...(areFieldsExpected ? absentIn(event, described) : []).map((path): Difference => ({
            change: "missing",
            path,
          })),
        ]
      : [];
    const result = await schema["~standard"].validate(event);
    const issues = (result.issues ?? []).flatMap((issue) => ofIssue(issue, event, described));
    const left = result.issues || described ? [] : leftOut(event, result.value);
    const isFirst = createPaths();
    const differences = [...structure, ...issues, ...left].filter(({ path }) => isFirst(path));
    const isChecked = described !== undefined || (await leavesOutOrRefuses(schema, event));
    return { differences, isChecked };
  };
  return (event) =>
    compare(event).catch((error: unknown) => {
      if (error instanceof RangeError && /call stack/i.test(error.message)) return undefined;
      throw error;
    });
}

interface PathNode {
  readonly below: Map<string, PathNode>;
  isPath: boolean;
}

const createNode = (): PathNode => ({ below: new Map(), isPath: false });

/**
 * Returns a function that returns true for a path unless an earlier call had the same path, or a parent of it other
 * than the root.
 */
function createPaths(): (path: readonly string[]) => boolean {
  const root = createNode();
  return (path) => {
    let node = root;
    for (const name of path) {
      const next = node.below.get(name) ?? createNode();
      node.below.set(name, next);
      node = next;
      if (node.isPath) return false;
    }
    const isFirst = !node.isPath;
    node.isPath = true;
    return isFirst;
  };
}

/** The members that zod (`keys`), valibot and arktype (`expected`) add to an issue about an undeclared field. */
interface Undeclared {
  readonly keys?: unknown;
  readonly expected?: unknown;
}

/** Returns the differences that an issue reports. */
function ofIssue(
  issue: StandardSchemaIssue & Undeclared,
  event: unknown,
  described: JsonSchema | undefined,
): readonly Difference[] {
  const steps = (issue.path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  const plain = shownPath(steps, event);
  const path = described ? pathIn(described, plain) : plain;
  const value = steps.reduce<unknown>(memberOf, event);
  if (Array.isArray(issue.keys) && typeOf(value) === "object") {
    return issue.keys.map((name: unknown) => ({ change: "new", path: [...path, String(name)] }));
  }
  if (value === undefined) return [{ change: "missing", path }];
  const isNew = issue.expected === "never" || issue.expected === "removed";
  return [{ change: isNew ? "new" : "changed", path, found: typeOf(value) }];
}

/** Returns a member of an object or an item of a list, but no inherited property. */
const memberOf = (value: unknown, step: PropertyKey): unknown =>
  Object.hasOwn(Object(value), step) ? (Object(value)[step] as unknown) : undefined;

/** Returns a path with `[]` for each index of a list. */
function shownPath(steps: readonly PropertyKey[], event: unknown): readonly string[] {
  let value = event;
  return steps.map((step) => {
    const isIndex = Array.isArray(value);
    value = memberOf(value, step);
    return isIndex ? "[]" : String(step);
  });
}

/** Returns a difference for each field of the input that the output lacks. */
function leftOut(input: unknown, output: unknown, path: readonly string[] = []): Difference[] {
  if (Array.isArray(input) && Array.isArray(output)) {
    return input.flatMap((item, index) => leftOut(item, output[index], [...path, "[]"]));
  }
  if (typeOf(input) !== "object" || typeOf(output) !== "object") return [];
  const kept = output as Readonly<Record<string, unknown>>;
  return Object.entries(input as object).flatMap(([name, value]) =>
    Object.hasOwn(kept, name)
      ? leftOut(value, kept[name], [...path, name])
      : [{ change: "new", path: [...path, name], found: typeOf(value) }],
  );
}

const probe = "svc_webhooks_drift_probe";

/** Resolves to whether a schema refuses an event with an undeclared field, or removes that field. */
async function leavesOutOrRefuses(schema: StandardSchemaV1, event: unknown): Promise<boolean> {
  const result = await schema["~standard"].validate({ ...Object(event), [probe]: true });
  return result.issues !== undefined || !Object.hasOwn(Object(result.value), probe);
}
