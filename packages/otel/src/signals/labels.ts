import { codeOf } from "@svc-webhooks/core";

const other = "_OTHER";

/** The number of names of errors that are labels. */
const mostErrorTypes = 50;

/** The values of labels, whose number is bounded. */
export interface Labels {
  /** Returns a type of the list, and `_OTHER` for any other. */
  readonly typeOf: (type: string) => string;
  /** Returns the code of a receiver's own error, or the name of another, and `_OTHER` after the first 50 names. */
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
