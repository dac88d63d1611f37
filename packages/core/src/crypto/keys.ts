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
import type { Secret, SecretKey, SecretSource, Secrets } from "../options.js";
import type { MaybePromise } from "../store.js";
import { assertOptions, assertOption } from "../texts/assert.js";
import type { HmacKey } from "./hmac.js";

/**
 * A validated secret. The imported key is kept, not its promise: a Worker must not await a promise
 * of another request.
 */
export interface KnownSecret {
  readonly id: string;
  /** The key as the caller passed it. */
  readonly key: SecretKey;
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  hmac?: HmacKey;
}

export interface SecretReader {
  /** Returns the active secrets, at least one; throws or rejects if there are none. */
  readonly read: () => MaybePromise<readonly KnownSecret[]>;
  /** Returns the secrets of the last call of `read`, including those that have expired. */
  readonly known: () => readonly KnownSecret[];
}

/**
 * Returns a reader of the active secrets.
 *
 * @throws ReceiverConfigError `invalid_secret`, `unknown_option`; if `source` is a function, only its reader
 *   rejects
 */
export function secretReader(source: SecretSource, clock: Clock): SecretReader {
  const isFunction = typeof source === "function";
  let known: readonly KnownSecret[] = [];
  let last: readonly unknown[] | undefined;
  const copyOf = (key: SecretKey) => known.find((secret) => secret.key === key)?.bytes;
  const active = (secrets: Secrets) => {
    // A list may be changed in place, so its values are compared. Bytes passed when the receiver was
    // built are compared by identity, because their owner may have wiped them since.
    const values = listOf(secrets).flatMap(({ id, key, expiresAt = Infinity }) => [
      id,
      isFunction ? `${typeof key} ${String(key)}` : key,
      Number(expiresAt),
    ]);
    if (values.length !== last?.length || values.some((value, index) => value !== last?.[index])) {
      known = isFunction
        ? parseSecrets(secrets, "secret()")
        : parseSecrets(secrets, "secret", copyOf);
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
        // An error of these packages names its own cause.
        if (codeOf(error)) throw error;
        // V8 quotes the text that JSON.parse refuses, which may be the secret.
        const reason = error instanceof SyntaxError ? error.name : describe(error);
        throw new Error(`The secret function failed: ${reason}`, { cause: error });
      },
    );
  const first = isFunction ? [] : active(source);
  const read = () => (Array.isArray(source) ? active(source) : first);
  return { read: isFunction ? call : read, known: () => known };
}

/** Keys without an id have their position as id, from 1. */
const listOf = (secrets: Secrets): readonly Secret[] =>
  isList(secrets)
    ? secrets.map((one, index) => (isSecret(one) ? one : { id: String(index + 1), key: one }))
    : [{ id: "default", key: secrets }];

// `Array.isArray` does not narrow to readonly lists.
const isList = (secrets: Secrets): secrets is Exclude<Secrets, SecretKey> => Array.isArray(secrets);

const isSecret = (one: SecretKey | Secret): one is Secret => isObject(one) && !isBytes(one);

/** Returns the secrets that have not expired; throws if there are none. */
export function unexpired(secrets: readonly KnownSecret[], now: number): readonly KnownSecret[] {
  const active = secrets.filter(({ expiresAt }) => now < expiresAt);
  assertOption(active.length > 0, "invalid_secret", "secret", secrets);
  return active;
}

/**
 * @param path the option for errors
 * @param copyOf returns the bytes of a key that is already known
 */
export function parseSecrets(
  secrets: Secrets,
  path = "secret",
  copyOf: (key: SecretKey) => Uint8Array | undefined = () => undefined,
): readonly KnownSecret[] {
  const known = listOf(secrets).map((one, index) => {
    const { id, key, expiresAt = Infinity } = one;
    const given = isList(secrets) ? secrets[index] : undefined;
    const at = isList(secrets) ? `${path}[${index}]` : path;
    assertOptions(one, ["id", "key", "expiresAt"], at);
    const bytes = copyOf(key) ?? keyBytes(key, given === one ? `${at}.key` : at);
    return { id, key, bytes, expiresAt: Number(expiresAt) };
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

/**
 * Returns the secret whose key made the well-formed `signature` of `body`. Every secret is tried,
 * so that timing does not reveal which one matched.
 */
export function matchingSecret(
  secrets: readonly KnownSecret[],
  body: Uint8Array,
  signature: string,
): MaybePromise<KnownSecret | undefined> {
  const hex = signature.slice(7);
  return secrets.reduce<MaybePromise<KnownSecret | undefined>>(
    (before, secret) =>
      andThen(before, (match) =>
        andThen(hmacOf(secret), (hmac) =>
          andThen(hmac.verify(body, hex), (ok) => match ?? (ok ? secret : undefined)),
        ),
      ),
    undefined,
  );
}

const hmacOf = (secret: KnownSecret) =>
  secret.hmac ?? andThen(importKey(secret.bytes), (hmac) => (secret.hmac = hmac));

// Rejects the result of a missing variable, a wrong cast or a copied configuration line, and placeholders. Base64
// contains no dots, so a secret with a dot after its prefix is masked or abbreviated.
const plausibleSecret =
  /^(?!["'`]|(whsec_)?(undefined|null|NaN|\[object \w+\]|x{3,}|<.*>|\$\{?[A-Z][A-Z\d_]*}?|your[-_].*|[.\u2026].*)?$)\S(.*[^\s"'`])?$/;

/** @throws ReceiverConfigError `invalid_secret` */
export function keyBytes(key: SecretKey, path = "secret"): Uint8Array {
  const bytes = toBytes(key);
  assertOption(
    // All zeros means that the bytes were wiped.
    bytes &&
      (typeof key === "string"
        ? plausibleSecret.test(key) && !isApiKey(key)
        : key.some((byte) => byte > 0)),
    "invalid_secret",
    path,
    key,
  );
  // The copy stays valid when the caller wipes the original.
  return new Uint8Array(bytes);
}
