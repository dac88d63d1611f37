/**
 * A signing secret, which the service returns once. It prints as `[secret]` everywhere, also in JSON and
 * in `util.inspect`, until `reveal()` returns its text.
 */
export interface Secret {
  /** The text: `whsec_…`. */
  readonly reveal: () => string;
  readonly toString: () => "[secret]";
  readonly toJSON: () => "[secret]";
}

const masked = () => "[secret]" as const;

export function secret(text: string): Secret {
  const wrapped = { reveal: () => text, toString: masked, toJSON: masked };
  // Other platforms show functions, which contain no text.
  Object.defineProperty(wrapped, Symbol.for("nodejs.util.inspect.custom"), { value: masked });
  return wrapped;
}
