/**
 * A signing secret, which the service returns once. Everything prints it as `[object Secret]`, also JSON and
 * `util.inspect`; a receiver that is given this text by mistake refuses it. `reveal()` returns the secret.
 */
export interface MaskedSecret {
  /** The text: `whsec_…`. Pass it to `createReceiver`, or store it. */
  readonly reveal: () => string;
  readonly toString: () => "[object Secret]";
  readonly toJSON: () => "[object Secret]";
}

const masked = () => "[object Secret]" as const;

export function maskedSecret(text: string): MaskedSecret {
  const wrapped = { reveal: () => text, toString: masked, toJSON: masked };
  // Other platforms show functions, which contain no text.
  return Object.defineProperty(wrapped, Symbol.for("nodejs.util.inspect.custom"), {
    value: masked,
  });
}
