/** Matches `{{`, which stands for a brace, or a reference such as `{endpoint}`. */
const pattern = /\{\{|\{([a-z][a-z0-9-]*)\}/g;

/** Returns the names that a text refers to. */
export const referencesIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(pattern), ([, name]) => name).filter((name) => name !== undefined);

/** Replaces the references in a text with their values, and each `{{` with a brace. References without a value stay. */
export const fill = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(pattern, (match, name?: string) =>
    name === undefined ? "{" : (values.get(name) ?? match),
  );

/** Escapes a text, so that `fill` returns the original. */
export const escaped = (text: string): string => text.replaceAll("{", "{{");

/** Applies `change` to all strings of a JSON value, and to the names of its members. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [change(name), mapStrings(member, change)]),
  );
}

/** Returns all strings of a JSON value, including the names of its members. */
export function stringsIn(value: unknown): readonly string[] {
  const strings: string[] = [];
  mapStrings(value, (text) => {
    strings.push(text);
    return text;
  });
  return strings;
}

/** Returns the value at a path such as `data.0.event_id`, or undefined. */
export function valueAt(value: unknown, path: string): unknown {
  let current = value;
  for (const name of path.split(".")) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, name))
      return undefined;
    current = (current as Readonly<Record<string, unknown>>)[name];
  }
  return current;
}

/** Returns the path at which a JSON value contains a string, or undefined. */
export function pathOfValue(value: unknown, text: string, path: string = ""): string | undefined {
  if (value === text) return path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const memberPath = pathOfValue(member, text, path === "" ? name : `${path}.${name}`);
    if (memberPath !== undefined) return memberPath;
  }
  return undefined;
}
