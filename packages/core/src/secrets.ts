/**
 * A signing secret: the key's bytes, or a string. The UTF-8 bytes of the whole string, including a prefix `whsec_`, are
 * the key, unless the scheme decodes strings differently.
 */
export type SecretKey = string | Uint8Array;

/** One of several secrets during a rotation, with a name and an optional expiry. */
export interface Secret {
  /** Your name for this secret, unique in its list. Reports and `context.secretId` contain it. */
  readonly id: string;
  /** The key, unique in its list. */
  readonly key: SecretKey;
  /** The time from which the key is no longer accepted: a Date or epoch milliseconds. Default: never. */
  readonly expiresAt?: Date | number | undefined;
}

/**
 * One key, or a list of 1 … 10 keys: the current one first, then those that it replaces. The id of a single key
 * is `"default"`; the id of a listed plain key is its position, `"1"` for the first.
 */
export type Secrets = SecretKey | readonly (SecretKey | Secret)[];

/**
 * Secrets, or a function that returns them. The receiver calls the function for every delivery whose signature it
 * verifies, so cache its result.
 */
export type SecretSource = Secrets | (() => Secrets | Promise<Secrets>);
