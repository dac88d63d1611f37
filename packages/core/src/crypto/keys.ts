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

/** A secret that passed its checks. The imported key is kept; its promise is not (a worker must not await another request's promise). */
export interface KnownSecret {
  readonly id: string;
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  hmac?: HmacKey;
}

/** The secrets that are active now: never none, it throws or rejects instead. */
export type SecretReader = () => MaybePromise<readonly KnownSecret[]>;

/** March 1973: a number before it is meant in seconds. */
const longAgoMs = 1e11;

/** @throws ReceiverConfigError `invalid_secret`, `unknown_option`; immediately unless `source` is a function */
export function secretReader(source: SecretSource, clock: Clock): SecretReader {
  const isAsked = typeof source === "function";
  let known: readonly KnownSecret[];
  let seen: readonly unknown[] | undefined;
  const copies = new Map<SecretKey, Uint8Array>();
  const copyOf = (key: SecretKey) => {
    const bytes = copies.get(key) ?? keyBytes(key);
    copies.set(key, bytes);
    return bytes;
  };
  const active = (secrets: Secrets) => {
    // A list may be changed in place. Bytes that were given when the receiver was built may since have
    // been wiped by their owner: they are the same as long as they are the same object.
    const now = listed(secrets).flatMap(({ id, key, expiresAt = Infinity }) => [
      id,
      isAsked ? `${typeof key} ${String(key)}` : key,
      Number(expiresAt),
    ]);
    if (now.length !== seen?.length || now.some((value, index) => value !== seen?.[index])) {
      known = parseSecrets(secrets, isAsked ? keyBytes : copyOf);
      seen = now;
    }
    return unexpired(known, clock.now());
  };
  if (isAsked) {
    return async () =>
      active(await withDeadline(clock, secretDeadlineMs, "secret", () => source()));
  }
  const first = active(source);
  return () => (Array.isArray(source) ? active(source) : first);
}

const listed = (secrets: Secrets): readonly Secret[] =>
  Array.isArray(secrets) ? secrets : [{ id: "default", key: secrets as SecretKey }];

/** The secrets that have not expired: never none, it throws instead. */
export function unexpired(secrets: readonly KnownSecret[], now: number): readonly KnownSecret[] {
  const left = secrets.filter(({ expiresAt }) => now < expiresAt);
  assertOption(left.length > 0, "invalid_secret", "secret", "secret needs an unexpired key.");
  return left;
}

export function parseSecrets(
  secrets: Secrets,
  bytesOf: (key: SecretKey) => Uint8Array = keyBytes,
): readonly KnownSecret[] {
  const known = listed(secrets).map(({ id, key, expiresAt = Infinity, ...rest }: Secret) => {
    assertNoRest(rest);
    return { id, bytes: bytesOf(key), expiresAt: Number(expiresAt) };
  });
  assertOption(
    known.length > 0 &&
      known.length <= 10 &&
      known.every(({ id, expiresAt }) => isFilled(id) && expiresAt > longAgoMs) &&
      new Set(known.map(({ id }) => id)).size === known.length &&
      new Set(known.map(({ bytes }) => bytes.join())).size === known.length,
    "invalid_secret",
    "secret",
    "secret must list 1 to 10 different { id, key, expiresAt?: Date or epoch milliseconds }.",
  );
  return known;
}

/** The secret whose key made a well-formed `signature` of `body`. Every one is tried, so that timing does not reveal which one matched. */
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

// Not what a missing variable, a wrong cast or a copied configuration line leaves behind.
const wholeSecret = /^(?!(whsec_)?(undefined|null|NaN|\[object \w+\])?$)(?!(["'`]).*\3$)\S(.*\S)?$/;

/** @throws ReceiverConfigError `invalid_secret` */
export function keyBytes(key: SecretKey): Uint8Array {
  const bytes = toBytes(key);
  assertOption(
    // Zeros are what is left of bytes that were wiped.
    bytes && (typeof key === "string" ? wholeSecret.test(key) : key.some((byte) => byte > 0)),
    "invalid_secret",
    "secret",
    "secret must be set to bytes, or to a trimmed line of well-formed text without quotes.",
  );
  // A copy: the caller may wipe its own.
  return new Uint8Array(bytes);
}
