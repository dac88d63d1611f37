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

/** Returns the differences between a value and a schema. */
export function differencesOf(value: unknown, root: JsonSchema): readonly Difference[] {
  return compare(value, root, [], createResolver(root));
}

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

function compare(
  value: unknown,
  declaration: JsonSchema | boolean,
  path: readonly string[],
  resolve: Resolve,
): readonly Difference[] {
  if (typeof declaration === "boolean") return [];
  const schema = resolve(declaration);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) {
    const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
    const results = branches.map((branch) =>
      compare(value, combined(resolve(branch), rest), path, resolve),
    );
    return closest(results);
  }
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const valueType = typeOf(value);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) {
    return [{ change: "changed", path, expected: types.join(" or "), found: valueType }];
  }
  const allowed = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
  if (allowed && !allowed.some((choice) => JSON.stringify(choice) === JSON.stringify(value))) {
    const expected =
      allowed.length === 1 ? "the declared value" : `one of ${allowed.length} values`;
    return [{ change: "changed", path, expected, found: `another ${valueType}` }];
  }
  if (Array.isArray(value)) return ofItems(value, schema, path, resolve);
  if (valueType === "object") return ofFields(value as object, schema, path, resolve);
  return [];
}

/**
 * Returns the differences of the branch that fits best. A changed value weighs more than many new or missing fields,
 * especially near the root.
 */
function closest(results: readonly (readonly Difference[])[]): readonly Difference[] {
  const weight = (differences: readonly Difference[]) =>
    differences.reduce(
      (sum, { change, path }) => sum + (change === "changed" ? 1_000 / (path.length + 1) : 1),
      0,
    );
  return results.toSorted((left, right) => weight(left) - weight(right))[0] ?? [];
}

const isOfType = (value: unknown, type: string): boolean =>
  type === "integer" ? Number.isInteger(value) : typeOf(value) === type;

const ofItems = (
  list: readonly unknown[],
  { items = true, prefixItems = [] }: JsonSchema,
  path: readonly string[],
  resolve: Resolve,
): readonly Difference[] =>
  list.flatMap((item, index) =>
    compare(item, prefixItems[index] ?? items, [...path, "[]"], resolve),
  );

function ofFields(
  value: object,
  schema: JsonSchema,
  path: readonly string[],
  resolve: Resolve,
): readonly Difference[] {
  const { properties, additionalProperties, required = [] } = schema;
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name): Difference => ({ change: "missing", path: [...path, name] }));
  const fields = Object.entries(value).flatMap(([name, field]): readonly Difference[] => {
    const own = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined) return compare(field, own, [...path, name], resolve);
    const entry = entrySchemaOf(schema, name);
    if (entry !== undefined) return compare(field, entry, [...path, "{}"], resolve);
    // Reports no new fields in an object without declared fields, because it is probably a map, whose names are data.
    if (properties === undefined && additionalProperties !== false) return [];
    return [{ change: "new", path: [...path, name], found: typeOf(field) }];
  });
  return [...missing, ...fields];
}

/** Returns the schema of the entry `name` of a map, or undefined if the map describes no such entry. */
function entrySchemaOf(
  { patternProperties = {}, additionalProperties }: JsonSchema,
  name: string,
): JsonSchema | undefined {
  const patterns = Object.entries(patternProperties);
  const pattern = patterns.find(([source]) => new RegExp(source, "u").test(name));
  if (pattern) return pattern[1];
  const isDescribed =
    typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0;
  return isDescribed ? additionalProperties : undefined;
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
    candidates = name === "[]" ? items : own.length > 0 ? own : entries;
    return name !== "[]" && own.length === 0 && entries.length > 0 ? "{}" : name;
  });
}

const branchesOf = ({ anyOf, oneOf }: JsonSchema, resolve: Resolve): readonly JsonSchema[] =>
  (anyOf ?? oneOf ?? []).map(resolve);
