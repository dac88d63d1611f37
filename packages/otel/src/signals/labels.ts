import { codeOf } from "@svc-webhooks/core/adapter";

const other = "_OTHER";

/** The maximum number of error names that are used as labels. */
const mostErrorTypes = 50;

/** The maximum number of sources that are used as labels. An intake and a guard have no more. */
const mostSources = 20;

/** Functions that map event types and errors to a bounded number of label values. */
export interface Labels {
  /** Returns `type` if it is in the list, otherwise `_OTHER`. */
  readonly typeOf: (type: string) => string;
  /** Returns the code or the name of an error, or `_OTHER` for an invalid name and for new names after the first 50. */
  readonly errorTypeOf: (error: unknown) => string;
  /** Returns the origin of an event, or `_OTHER` for new sources after the first 20, which only a scheme can name. */
  readonly sourceOf: (source: string) => string;
}

export function labelsOf(types: readonly string[]): Labels {
  const known = new Set(types);
  const errorTypes = new Set<string>();
  const sources = new Set<string>();
  return {
    typeOf: (type) => (known.has(type) ? type : other),
    errorTypeOf(error) {
      const name: unknown = codeOf(error) ?? (Object(error) as Partial<Error>).name;
      if (typeof name !== "string" || !/^\w{1,64}$/.test(name)) return other;
      return boundedIn(errorTypes, mostErrorTypes, name);
    },
    sourceOf: (source) => boundedIn(sources, mostSources, source),
  };
}

/** Returns a value that is among the first `most` different ones, otherwise `_OTHER`. */
function boundedIn(values: Set<string>, most: number, value: string): string {
  if (values.size < most) values.add(value);
  return values.has(value) ? value : other;
}
