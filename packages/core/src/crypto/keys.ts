import { importKey } from "#hmac";
import { isApiKey } from "#texts";
import type { Clock } from "../clock.js";
import { codeOf } from "../errors.js";
import { isBytes, toBytes } from "../lib/bytes.js";
import { withDeadline } from "../lib/deadline.js";
import { isObject } from "../lib/is-object.js";
import { andThen, tryThen } from "../lib/maybe-promise.js";
import { describe, isFilled } from "../lib/text.js";
import { earliestExpiryMs, secretDeadlineMs } from "../lib/times.js";
import type { Scheme, VerificationKey } from "../scheme.js";
import type { Secret, SecretKey, SecretSource, Secrets } from "../secrets.js";
import type { MaybePromise } from "../store.js";
import { assertOptions, assertOption } from "../texts/assert.js";

/**
 * A validated secret. The imported key is kept, not its promise: a Worker must not await a promise that another
 * request created.
 */
export interface KnownSecret {
  readonly id: string;
  /** The key as the caller passed it. */
  readonly key: SecretKey;
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  readonly scheme: Scheme | undefined;
  imported?: VerificationKey<unknown>;
}

export interface SecretReader {
  /** Returns the active secrets, at least one. Throws or rejects if there are none or they cannot be read. */
  readonly read: () => MaybePromise<readonly KnownSecret[]>;
  /** Returns the secrets that were parsed last, including those that have expired. */
  readonly known: () => readonly KnownSecret[];
}

/**
 * Returns a reader of the active secrets.
 *
 * @throws ConfigError `invalid_secret`, `unknown_option`; if `source` is a function, `read` throws or rejects
 *   with them instead
 */
export function secretReader(source: SecretSource, clock: Clock, scheme?: Scheme): SecretReader {
  const isFunction = typeof source === "function";
  let known: readonly KnownSecret[] = [];
  let last: readonly unknown[] | undefined;
  const copyOf = (key: SecretKey) => known.find((secret) => secret.key === key)?.bytes;
  const active = (secrets: Secrets) => {
    // A list may be changed in place, so its values are compared with those read before. Keys that were passed as an
    // option are compared by identity, because their owner may have wiped their bytes since.
    const values = listOf(secrets).flatMap(({ id, key, expiresAt = Infinity }) => [
      id,
      isFunction ? `${typeof key} ${String(key)}` : key,
      Number(expiresAt),
    ]);
    if (values.length !== last?.length || values.some((value, index) => value !== last?.[index])) {
      known = isFunction
        ? parseSecrets(secrets, "secret()", scheme)
        : parseSecrets(secrets, "secret", scheme, copyOf);
      last = values;
    }
    return unexpired(known, clock.now());
  };
  const call = (): MaybePromise<readonly KnownSecret[]> =>
    tryThen(
      () =>
        withDeadline(clock, secretDeadlineMs, "secret", () =>
          (source as () => MaybePromise<Secrets>)(),
        ),
      active,
      (error) => {
        // An error of these packages states its own cause, so it is thrown unchanged.
        if (codeOf(error)) throw error;
        // Hides the message of a SyntaxError: V8 quotes the text that JSON.parse refuses, which may be the secret.
        const reason = error instanceof SyntaxError ? error.name : describe(error);
        throw new Error(`The secret function failed: ${reason}`, { cause: error });
      },
    );
  const first = isFunction ? [] : active(source);
  const read = () => (Array.isArray(source) ? active(source) : first);
  return { read: isFunction ? call : read, known: () => known };
}

/** Returns a list of secrets. The id of a listed plain key is its position, from 1. */
const listOf = (secrets: Secrets): readonly Secret[] =>
  isList(secrets)
    ? secrets.map((secret, index) =>
        isSecret(secret) ? secret : { id: String(index + 1), key: secret },
      )
    : [{ id: "default", key: secrets }];

// Needed because `Array.isArray` does not narrow to readonly lists.
const isList = (secrets: Secrets): secrets is Exclude<Secrets, SecretKey> => Array.isArray(secrets);

const isSecret = (secret: SecretKey | Secret): secret is Secret =>
  isObject(secret) && !isBytes(secret);

/** Returns the secrets that have not expired; throws if there are none. */
export function unexpired(secrets: readonly KnownSecret[], now: number): readonly KnownSecret[] {
  const active = secrets.filter(({ expiresAt }) => now < expiresAt);
  assertOption(active.length > 0, "invalid_secret", "secret", secrets);
  return active;
}

/**
 * Validates secrets and returns them with their bytes.
 *
 * @param path the name of the option in errors
 * @param copyOf returns the bytes of a key that is already known, otherwise undefined; default: none is known
 * @throws ConfigError `invalid_secret`, `unknown_option`
 */
export function parseSecrets(
  secrets: Secrets,
  path = "secret",
  scheme?: Scheme,
  copyOf: (key: SecretKey) => Uint8Array | undefined = () => undefined,
): readonly KnownSecret[] {
  const known = listOf(secrets).map((secret, index) => {
    const { id, key, expiresAt = Infinity } = secret;
    const entry = isList(secrets) ? secrets[index] : undefined;
    const option = isList(secrets) ? `${path}[${index}]` : path;
    assertOptions(secret, ["id", "key", "expiresAt"], option);
    const bytes = copyOf(key) ?? keyBytes(key, entry === secret ? `${option}.key` : option, scheme);
    return { id, key, bytes, expiresAt: Number(expiresAt), scheme };
  });
  assertOption(
    known.length > 0 &&
      known.length <= 10 &&
      known.every(({ id, expiresAt }) => isFilled(id) && expiresAt > earliestExpiryMs) &&
      new Set(known.map(({ id }) => id)).size === known.length &&
      new Set(known.map(({ bytes }) => bytes.join())).size === known.length,
    "invalid_secret",
    path,
    known,
  );
  return known;
}

// A scheme in JavaScript may return an object, such as the result of `verify`, which must not count as true.
const isGenuine = (ok: unknown) => ok === true;

/**
 * Returns the first secret whose key made the signature of `body`, or undefined. Every secret is tried, so that timing
 * does not reveal which one matched.
 *
 * @param claim the claim of the scheme or, without one, the 64 hex digits of the signature
 */
export function matchingSecret(
  secrets: readonly KnownSecret[],
  body: Uint8Array,
  claim: unknown,
): MaybePromise<KnownSecret | undefined> {
  return secrets.reduce<MaybePromise<KnownSecret | undefined>>(
    (before, secret) =>
      andThen(before, (match) =>
        andThen(importedOf(secret), (key) =>
          andThen(key.verify(body, claim), (ok) => match ?? (isGenuine(ok) ? secret : undefined)),
        ),
      ),
    undefined,
  );
}

const importedOf = (secret: KnownSecret) =>
  secret.imported ??
  andThen<VerificationKey<never>, VerificationKey<unknown>>(
    (secret.scheme?.importKey ?? importKey)(secret.bytes, importKey),
    (key) => (secret.imported = key),
  );

// Rejects placeholders, and the results of an unset variable (`undefined`), a string conversion (`[object Object]`) or
// a copied configuration line. Real keys pass: base64, hex and UUIDs lack the punctuation listed here, and random keys
// are longer than the listed words.
const plausibleSecret =
  /^(?!["'`]|(whsec_)?(undefined|null|nan|\[[\w ]+]|x{3,}|<.*>|\$(\{.*|[a-z_]+)|your[-_]\D*|(change|replace).?me|todo|placeholder|%\w+%|\{\{.*|[.\u2026].*|.*(\u2026|(=whsec_|\*{4}).*))?$)\S(.*[^\s"'`])?$/i;

/** @throws ConfigError `invalid_secret` */
export function keyBytes(key: SecretKey, path = "secret", scheme?: Scheme): Uint8Array {
  const bytes = (scheme?.keyBytes ?? toBytes)(key, path);
  assertOption(
    // If all bytes are zero, the key has probably been wiped.
    bytes &&
      bytes.some((byte) => byte > 0) &&
      (scheme || typeof key !== "string" || (plausibleSecret.test(key) && !isApiKey(key))),
    "invalid_secret",
    path,
    key,
  );
  // Returns a copy, which stays valid when the caller wipes the original.
  return new Uint8Array(bytes);
}
