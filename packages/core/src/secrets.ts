import { toBytes } from "./bytes.js";
import { check, checkNoRest } from "./check.js";
import type { Clock } from "./clock.js";
import { importKey } from "#hmac";
import type { HmacKey } from "./hmac/contract.js";
import { isFilled } from "./text.js";
import { andThen, withDeadline, type MaybePromise } from "./promise.js";

/** A signing secret: the UTF-8 bytes of the whole string, `whsec_` included, or bytes taken as they are. */
export type SecretKey = string | Uint8Array;

/** One of several secrets during a rotation. */
export interface Secret {
  /** Your name for it; in reports and `ctx.secretId`. Unique in its list. */
  readonly id: string;
  readonly key: SecretKey;
  /** From when on it no longer counts: a Date or epoch milliseconds. Default: never. */
  readonly expiresAt?: Date | number | undefined;
}

/** One key, or 1 … 10 with ids: the current one first, the ones on their way out behind it. */
export type Secrets = SecretKey | readonly Secret[];

/** Secrets, or a function that returns them. It is called for every delivery with a well-formed signature, so cache its result. */
export type SecretSource = Secrets | (() => Secrets | Promise<Secrets>);

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
const resolverDeadlineMs = 1_500;

/** @throws ReceiverConfigError `invalid_secret`, `unknown_option`; immediately unless `source` is a function */
export function secretReader(source: SecretSource, clock: Clock): SecretReader {
  const isAsked = typeof source === "function";
  let known: readonly KnownSecret[];
  let seen: readonly unknown[] | undefined;
  const active = (secrets: Secrets) => {
    // A list may be changed in place. Bytes that were given when the receiver was built may since have
    // been wiped by their owner: they are the same as long as they are the same object.
    const now = listed(secrets).flatMap(({ id, key, expiresAt = Infinity }) => [
      id,
      isAsked ? String(key) : key,
      Number(expiresAt),
    ]);
    if (now.length !== seen?.length || now.some((value, index) => value !== seen?.[index])) {
      known = readSecrets(secrets);
      seen = now;
    }
    return unexpired(known, clock.now());
  };
  if (isAsked) {
    return async () =>
      active(await withDeadline(clock, resolverDeadlineMs, "secret", () => source()));
  }
  const first = active(source);
  return () => (Array.isArray(source) ? active(source) : first);
}

const listed = (secrets: Secrets): readonly Secret[] =>
  Array.isArray(secrets) ? secrets : [{ id: "default", key: secrets as SecretKey }];

/** The secrets that have not expired: never none, it throws instead. */
export function unexpired(secrets: readonly KnownSecret[], now: number): readonly KnownSecret[] {
  const left = secrets.filter(({ expiresAt }) => now < expiresAt);
  check(left.length > 0, "secret", "an unexpired key", "invalid_secret");
  return left;
}

export function readSecrets(secrets: Secrets): readonly KnownSecret[] {
  const known = listed(secrets).map(({ id, key, expiresAt = Infinity, ...rest }: Secret) => {
    checkNoRest(rest);
    return { id, bytes: keyBytes(key), expiresAt: Number(expiresAt) };
  });
  check(
    known.length > 0 &&
      known.length <= 10 &&
      known.every(({ id, expiresAt }) => isFilled(id) && expiresAt > longAgoMs) &&
      new Set(known.map(({ id }) => id)).size === known.length &&
      new Set(known.map(({ bytes }) => bytes.join())).size === known.length,
    "secret",
    "1 to 10 different { id, key, expiresAt?: Date or epoch milliseconds }",
    "invalid_secret",
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
const wholeSecret = /^(?!(whsec_|undefined|null|\[object Object\])$)(?!(["'`]).*\2$)\S(.*\S)?$/;

/** @throws ReceiverConfigError `invalid_secret` */
export function keyBytes(key: SecretKey): Uint8Array {
  const bytes = toBytes(key);
  check(
    bytes && (typeof key === "string" ? wholeSecret.test(key) : key.length > 0),
    "secret",
    "set, to bytes or a whole, unquoted, trimmed line of well-formed text; a function may return it later",
    "invalid_secret",
  );
  // A copy: the caller may wipe its own.
  return new Uint8Array(bytes);
}
