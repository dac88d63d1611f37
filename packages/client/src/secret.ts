/**
 * A signing secret, which the service returns once. It is printed as `[object Secret]`, even by `JSON.stringify` and
 * Node's `util.inspect`; a receiver refuses this text if it is passed by mistake. `reveal()` returns the secret.
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
  // Makes Node print the mask. Other platforms print the functions, which do not contain the text.
  return Object.defineProperty(wrapped, Symbol.for("nodejs.util.inspect.custom"), {
    value: masked,
  });
}
