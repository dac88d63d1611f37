/**
 * A signing secret, which the service returns once. It is printed as `[object Secret]`, even by JSON and
 * `util.inspect`; a receiver that is given this text by mistake refuses it. `reveal()` returns the secret.
 */
export interface MaskedSecret {
  /** Returns the text: `whsec_…`. Pass it to `createReceiver`, or store it. */
  readonly reveal: () => string;
  readonly toString: () => "[object Secret]";
  readonly toJSON: () => "[object Secret]";
}

const masked = () => "[object Secret]" as const;

export function maskedSecret(text: string): MaskedSecret {
  const wrapped = { reveal: () => text, toString: masked, toJSON: masked };
  // Other platforms print functions, which contain no text.
  return Object.defineProperty(wrapped, Symbol.for("nodejs.util.inspect.custom"), {
    value: masked,
  });
}
