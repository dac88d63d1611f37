import { importKey } from "#hmac";
import type { Clock } from "../clock.js";
import { assertOption, assertNoRest } from "../lib/assert.js";
import { toBytes } from "../lib/bytes.js";
import { withDeadline } from "../lib/deadline.js";
import { andThen } from "../lib/maybe-promise.js";
import { isFilled } from "../lib/text.js";
import { secretDeadlineMs } from "../lib/times.js";
import type { Secret, SecretKey, SecretSource, Secrets } from "../options.js";
import type { MaybePromise } from "../store.js";
import type { HmacKey } from "./hmac.js";

/**
 * A validated secret. The imported key is kept, not its promise: a Worker must not await a promise
 * of another request.
 */
export interface KnownSecret {
  readonly id: string;
  /** As it was given. */
  readonly key: SecretKey;
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  hmac?: HmacKey;
}

/** Returns the active secrets, at least one; throws or rejects if there are none. */
export type SecretReader = () => MaybePromise<readonly KnownSecret[]>;

/** March 1973: a smaller number was meant as seconds. */
const earliestExpiryMs = 1e11;

/**
 * @throws ReceiverConfigError `invalid_secret`, `unknown_option`; if `source` is a function, only
 * its reader rejects
 */
export function secretReader(source: SecretSource, clock: Clock): SecretReader {
  const isFunction = typeof source === "function";
  let known: readonly KnownSecret[] = [];
  let last: readonly unknown[] | undefined;
  const copyOf = (key: SecretKey) =>
    known.find((secret) => secret.key === key)?.bytes ?? keyBytes(key);
  const active = (secrets: Secrets) => {
    // A list may be changed in place, so its values are compared. Bytes passed when the receiver was
    // built are compared by identity, because their owner may have wiped them since.
    const values = listOf(secrets).flatMap(({ id, key, expiresAt = Infinity }) => [
      id,
      isFunction ? `${typeof key} ${String(key)}` : key,
      Number(expiresAt),
    ]);
    if (values.length !== last?.length || values.some((value, index) => value !== last?.[index])) {
      known = parseSecrets(secrets, isFunction ? keyBytes : copyOf);
      last = values;
    }
    return unexpired(known, clock.now());
  };
  if (isFunction) {
    return async () =>
      active(await withDeadline(clock, secretDeadlineMs, "secret", () => source()));
  }
  const first = active(source);
  return () => (Array.isArray(source) ? active(source) : first);
}

const listOf = (secrets: Secrets): readonly Secret[] =>
  Array.isArray(secrets) ? secrets : [{ id: "default", key: secrets as SecretKey }];

/** Returns the secrets that have not expired; throws if there are none. */
export function unexpired(secrets: readonly KnownSecret[], now: number): readonly KnownSecret[] {
  const active = secrets.filter(({ expiresAt }) => now < expiresAt);
  assertOption(active.length > 0, "invalid_secret", "secret", "secret needs an unexpired key.");
  return active;
}

export function parseSecrets(
  secrets: Secrets,
  bytesOf: (key: SecretKey) => Uint8Array = keyBytes,
): readonly KnownSecret[] {
  const known = listOf(secrets).map(({ id, key, expiresAt = Infinity, ...rest }: Secret) => {
    assertNoRest(rest);
    return { id, key, bytes: bytesOf(key), expiresAt: Number(expiresAt) };
  });
  assertOption(
    known.length > 0 &&
      known.length <= 10 &&
      known.every(({ id, expiresAt }) => isFilled(id) && expiresAt > earliestExpiryMs) &&
      new Set(known.map(({ id }) => id)).size === known.length &&
      new Set(known.map(({ bytes }) => bytes.join())).size === known.length,
    "invalid_secret",
    "secret",
    "secret must list 1 to 10 different { id, key, expiresAt?: Date or epoch milliseconds }.",
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

// Rejects the result of a missing variable, a wrong cast or a copied configuration line.
const plausibleSecret =
  /^(?!(whsec_)?(undefined|null|NaN|\[object \w+\])?$)(?!(["'`]).*\3$)\S(.*\S)?$/;

/** @throws ReceiverConfigError `invalid_secret` */
export function keyBytes(key: SecretKey): Uint8Array {
  const bytes = toBytes(key);
  assertOption(
    // Zeros are the remains of bytes that were wiped.
    bytes && (typeof key === "string" ? plausibleSecret.test(key) : key.some((byte) => byte > 0)),
    "invalid_secret",
    "secret",
    "secret must be set to bytes, or to a trimmed line of well-formed text without quotes.",
  );
  // A copy, because the caller may wipe the original.
  return new Uint8Array(bytes);
}
