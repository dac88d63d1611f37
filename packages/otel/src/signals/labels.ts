import { codeOf } from "@svc-webhooks/core/adapter";

const other = "_OTHER";

/** The maximum number of error names that are used as labels. */
const mostErrorTypes = 50;

/** Functions that map event types and errors to a bounded number of label values. */
export interface Labels {
  /** Returns `type` if it is in the list, otherwise `_OTHER`. */
  readonly typeOf: (type: string) => string;
  /** Returns the code or the name of an error, or `_OTHER` for an invalid name and for new names after the first 50. */
  readonly errorTypeOf: (error: unknown) => string;
}

export function labelsOf(types: readonly string[]): Labels {
  const known = new Set(types);
  const errorTypes = new Set<string>();
  return {
    typeOf: (type) => (known.has(type) ? type : other),
    errorTypeOf(error) {
      const name: unknown = codeOf(error) ?? (Object(error) as Partial<Error>).name;
      if (typeof name !== "string" || !/^\w{1,64}$/.test(name)) return other;
      if (errorTypes.size < mostErrorTypes) errorTypes.add(name);
      return errorTypes.has(name) ? name : other;
    },
  };
}
