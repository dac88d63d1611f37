import { check, checkNoRest } from "./check.js";
import type { Clock } from "./clock.js";
import { importKey } from "#hmac";
import type { HmacKey } from "./hmac/contract.js";
import { isFilled } from "./text.js";
import { withDeadline, type MaybePromise } from "./promise.js";

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

/** Secrets, or a function that answers them: called for every delivery with a well-formed signature, so let it remember. */
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

const resolverDeadlineMs = 1_500;

/** @throws ReceiverConfigError `invalid_secret`, `unknown_option`; at once unless `source` is a function */
export function secretReader(source: SecretSource, clock: Clock): SecretReader {
  let cache: { readonly secrets: Secrets; readonly known: readonly KnownSecret[] } | undefined;
  const read = (secrets: Secrets) => {
    if (!cache || secrets !== cache.secrets) cache = { secrets, known: readSecrets(secrets) };
    return active(cache.known, clock);
  };
  if (typeof source !== "function") {
    read(source);
    return () => read(source);
  }
  return async () =>
    read(await withDeadline(clock, resolverDeadlineMs, "the secret function", () => source()));
}

/** @throws ReceiverConfigError `invalid_secret` */
export function active(secrets: readonly KnownSecret[], clock: Clock): readonly KnownSecret[] {
  const now = clock.now();
  const left = secrets.filter(({ expiresAt }) => now < expiresAt);
  checkSecret(left.length > 0, "secret", "a key that has not expired");
  return left;
}

/** @throws ReceiverConfigError `invalid_secret`, `unknown_option` */
export function readSecrets(secrets: Secrets): readonly KnownSecret[] {
  const list = Array.isArray(secrets) ? secrets : [{ id: "default", key: secrets }];
  const known = list.map(({ id, key, expiresAt = Infinity, ...rest }: Secret) => {
    checkNoRest(rest);
    checkSecret(isFilled(id), "secret id", "a non-empty string");
    checkSecret(Number(expiresAt) > 0, "expiresAt", "a Date or epoch milliseconds");
    return { id, bytes: keyBytes(key), expiresAt: Number(expiresAt) };
  });
  const ids = new Set(known.map(({ id }) => id));
  const keys = new Set(known.map(({ bytes }) => bytes.join()));
  const all = list.length;
  checkSecret(
    all > 0 && all <= 10 && ids.size === all && keys.size === all,
    "secret",
    "1 to 10 different keys with different ids",
  );
  return known;
}

/** The secret whose key made `hex` of `body`. Every one is tried, so that nothing tells which failed. */
export async function matchingSecret(
  secrets: readonly KnownSecret[],
  body: Uint8Array,
  hex: string,
): Promise<KnownSecret | undefined> {
  let match: KnownSecret | undefined;
  for (const secret of secrets) {
    // One after the other: on Node nothing here waits, and a promise each would cost more than the hashing.
    secret.hmac ??= await importKey(secret.bytes);
    if (await secret.hmac.verify(body, hex)) match ??= secret;
  }
  return match;
}

/** @throws ReceiverConfigError `invalid_secret` */
export function keyBytes(key: SecretKey): Uint8Array {
  const isText = typeof key === "string";
  checkSecret(
    isText ? /^\S(.*\S)?$/.test(key) : isBytes(key) && key.length > 0,
    "secret",
    "bytes, or text without a line break or white space around it; is the variable set?",
  );
  return isText ? utf8(key, "secret") : Uint8Array.from(key);
}

/** The UTF-8 bytes of `text`. An encoder would put replacement characters for lone surrogates: another key or body. */
export function utf8(text: string, option: string): Uint8Array {
  checkSecret(text.isWellFormed(), option, "free of lone surrogates");
  return new TextEncoder().encode(text);
}

/** By its tag, not its class: edge runtimes and test environments have several `Uint8Array`. */
export const isBytes = (value: unknown): value is Uint8Array =>
  Object.prototype.toString.call(value) === "[object Uint8Array]";

const checkSecret: (ok: boolean, option: string, mustBe: string) => asserts ok = (
  ok,
  option,
  mustBe,
) => check(ok, option, mustBe, "invalid_secret");
