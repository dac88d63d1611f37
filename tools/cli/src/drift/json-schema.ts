/** The keywords of JSON Schema that this project reads from the schema of an event. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | boolean;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

export type Change = "new" | "missing" | "changed";

/** A difference between a value and a schema. It contains no value. */
export interface Difference {
  readonly change: Change;
  /** The names of the fields from the outside in, with `[]` for an item of a list and `{}` for an entry of a map. */
  readonly path: readonly string[];
  /** The type or the values that the schema declares, such as `string` or `one of 3 values`. */
  readonly expected?: string | undefined;
  /**
   * The type of the value. If the type is right, but the schema lists other values, a text such as `another string`.
   */
  readonly found?: string | undefined;
}

export const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

/**
 * The differences in a value: that of the value itself, or those in its parts, each with the name that leads to the
 * part.
 */
interface Result {
  readonly own?: Omit<Difference, "path">;
  readonly parts: readonly (readonly [name: string, part: Result])[];
  /** The sum of the weights of the differences. A changed value weighs more than many new or missing fields. */
  readonly weight: number;
}

const same: Result = { parts: [], weight: 0 };

const ownDifference = (own: Omit<Difference, "path">, weight: number): Result => ({
  own,
  parts: [],
  weight,
});

const withParts = (all: Result["parts"]): Result => ({
  parts: all.filter(([, { weight }]) => weight > 0),
  weight: all.reduce((sum, [, { weight }]) => sum + weight, 0),
});

const listed = ({ own, parts }: Result, path: readonly string[]): readonly Difference[] =>
  own ? [{ ...own, path }] : parts.flatMap(([name, part]) => listed(part, [...path, name]));

/**
 * Returns the differences between a value and a schema.
 *
 * @param value must be the result of `JSON.parse`, or have each object and list in one place only
 */
export const differencesOf = (value: unknown, root: JsonSchema): readonly Difference[] =>
  listed(createComparison(createResolver(root))(value, root, 0), []);

export type Resolve = (schema: JsonSchema) => JsonSchema;

/** Returns a function that merges the schemas in `$ref` and `allOf` into a schema. Ignores unknown references. */
export function createResolver(root: JsonSchema): Resolve {
  const referenced = ({ $ref }: JsonSchema): JsonSchema | undefined => {
    if ($ref === undefined) return undefined;
    const steps = $ref.replace(/^#\/?/, "").split("/").filter(Boolean);
    return steps.reduce<unknown>((node, step) => {
      const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      return Object.hasOwn(Object(node), name) ? Object(node)[name] : undefined;
    }, root) as JsonSchema | undefined;
  };
  const resolve = (schema: JsonSchema, depth: number): JsonSchema => {
    if (depth > mostReferences) return {};
    const { $ref, allOf, ...own } = schema;
    const target = $ref === undefined ? undefined : (referenced(schema) ?? {});
    const parts = [...(target ? [target] : []), ...(allOf ?? [])].map((part) =>
      resolve(part, depth + 1),
    );
    return parts.reduce(combined, own);
  };
  return (schema) => resolve(schema, 0);
}

const mostReferences = 50;

/** Merges two schemas. Keeps the properties and required fields of both. Otherwise, `schema` overrides `base`. */
const combined = (schema: JsonSchema, base: JsonSchema): JsonSchema => ({
  ...base,
  ...schema,
  ...((schema.properties ?? base.properties) && {
    properties: { ...base.properties, ...schema.properties },
  }),
  required: [...(schema.required ?? []), ...(base.required ?? [])],
});

type Compare = (value: unknown, declaration: JsonSchema | boolean, depth: number) => Result;

function createComparison(resolve: Resolve): Compare {
  /**
   * The results by schema and value, so that no part is compared repeatedly: the branches of a recursive union share
   * the schemas of their parts.
   */
  const known = new Map<JsonSchema, Map<unknown, Result>>();

  const compareResolved = (value: unknown, schema: JsonSchema, depth: number): Result => {
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches) {
      const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
      const results = branches.map((branch) =>
        compareResolved(value, combined(resolve(branch), rest), depth),
      );
      // Returns the result of the branch that fits best.
      return results.toSorted((left, right) => left.weight - right.weight)[0] ?? same;
    }
    const changed = (expected: string, found: string) =>
      ownDifference({ change: "changed", expected, found }, 1_000 / (depth + 1));
    const types = schema.type === undefined ? [] : [schema.type].flat();
    const valueType = typeOf(value);
    if (types.length > 0 && !types.some((type) => isOfType(value, type)))
      return changed(types.join(" or "), valueType);
    const allowed = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
    if (allowed && !allowed.some((choice) => JSON.stringify(choice) === JSON.stringify(value))) {
      const expected =
        allowed.length === 1 ? "the declared value" : `one of ${allowed.length} values`;
      return changed(expected, `another ${valueType}`);
    }
    if (Array.isArray(value)) return ofItems(value, schema, depth, compare);
    return valueType === "object" ? ofFields(value as object, schema, depth, compare) : same;
  };

  const compare: Compare = (value, declaration, depth) => {
    if (typeof declaration === "boolean") return same;
    // Does not store the results of texts and numbers, because these may occur at several depths, and the weight
    // depends on the depth.
    if (Object(value) !== value) return compareResolved(value, resolve(declaration), depth);
    const results = known.get(declaration) ?? new Map<unknown, Result>();
    known.set(declaration, results);
    const result = results.get(value) ?? compareResolved(value, resolve(declaration), depth);
    results.set(value, result);
    return result;
  };
  return compare;
}

const isOfType = (value: unknown, type: string): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOf(value) === type;

const ofItems = (
  list: readonly unknown[],
  { items = true, prefixItems = [] }: JsonSchema,
  depth: number,
  compare: Compare,
): Result =>
  withParts(
    list.map((item, index) => ["[]", compare(item, prefixItems[index] ?? items, depth + 1)]),
  );

function ofFields(value: object, schema: JsonSchema, depth: number, compare: Compare): Result {
  const { properties, additionalProperties, required = [] } = schema;
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => [name, ownDifference({ change: "missing" }, 1)] as const);
  const fields = Object.entries(value).map(([name, field]): readonly [string, Result] => {
    const own = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined) return [name, compare(field, own, depth + 1)];
    const entry = entrySchemaOf(schema, name);
    if (entry !== undefined) return ["{}", compare(field, entry, depth + 1)];
    // Reports no new fields in an object without declared fields, because it is probably a map, whose names are data.
    const isMap = properties === undefined && additionalProperties !== false;
    return [name, isMap ? same : ownDifference({ change: "new", found: typeOf(field) }, 1)];
  });
  return withParts([...missing, ...fields]);
}

/** Returns the schema of the entry `name` of a map, or undefined if the map describes no such entry. */
function entrySchemaOf(
  { patternProperties = {}, additionalProperties }: JsonSchema,
  name: string,
): JsonSchema | undefined {
  const patterns = Object.entries(patternProperties);
  const pattern = patterns.find(([source]) => matches(source, name));
  if (pattern) return pattern[1];
  const isDescribed =
    typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0;
  return isDescribed ? additionalProperties : undefined;
}

/** Thrown for a pattern of a JSON Schema that is not a regular expression. The message is the pattern. */
export class InvalidPattern extends Error {}

/** @throws InvalidPattern if the pattern is not a regular expression */
function matches(pattern: string, name: string): boolean {
  // Some patterns, such as `[\w-.]`, are valid only without the flag `u`.
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags).test(name);
    } catch {}
  }
  throw new InvalidPattern(pattern);
}

/** Returns the paths of the declared fields that objects in the value lack. Skips lists, `anyOf` and `oneOf`. */
export function absentIn(value: unknown, root: JsonSchema): readonly (readonly string[])[] {
  const resolve = createResolver(root);
  const walk = (
    part: unknown,
    declaration: JsonSchema,
    path: readonly string[],
  ): (readonly string[])[] => {
    if (typeOf(part) !== "object") return [];
    return Object.entries(resolve(declaration).properties ?? {}).flatMap(([name, schema]) =>
      Object.hasOwn(part as object, name)
        ? walk((part as Record<string, unknown>)[name], schema, [...path, name])
        : [[...path, name]],
    );
  };
  return walk(value, root, []);
}

/** Returns a path as a difference contains it: with `{}` for the entries of maps, whose names are data. */
export function pathIn(root: JsonSchema, path: readonly string[]): readonly string[] {
  const resolve = createResolver(root);
  let candidates: readonly JsonSchema[] = [root];
  return path.map((name) => {
    const all = candidates
      .map(resolve)
      .flatMap((schema) => [schema, ...branchesOf(schema, resolve)]);
    const own = all.flatMap(({ properties = {} }) =>
      Object.hasOwn(properties, name) ? [properties[name] as JsonSchema] : [],
    );
    const items = all.flatMap(({ items: itemSchema, prefixItems = [] }) =>
      typeof itemSchema === "object" ? [itemSchema, ...prefixItems] : prefixItems,
    );
    const entries = all.flatMap((schema) => entrySchemaOf(schema, name) ?? []);
    // Drops repeated schemas, because the branches of a recursive union would double them with each name.
    candidates = Array.from(new Set(name === "[]" ? items : own.length > 0 ? own : entries));
    return name !== "[]" && own.length === 0 && entries.length > 0 ? "{}" : name;
  });
}

const branchesOf = ({ anyOf, oneOf }: JsonSchema, resolve: Resolve): readonly JsonSchema[] =>
  (anyOf ?? oneOf ?? []).map(resolve);
