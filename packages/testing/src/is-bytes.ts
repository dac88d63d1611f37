/** Checks the tag, not the class: edge runtimes and test environments have several `Uint8Array` classes. */
export const isBytes = (value: unknown): value is Uint8Array =>
  (value as Partial<Uint8Array> | null | undefined)?.[Symbol.toStringTag] === "Uint8Array";
