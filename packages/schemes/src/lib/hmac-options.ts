import { assertOptions, assertValid, type MaybePromise, type SignedBody } from "@svc-webhooks/core";
import { fromBase64 } from "./base64.js";
import { utf8 } from "./bytes.js";
import { base64Of, hexOf, type ReadDigest } from "./digests.js";
import { fromHex } from "./hex.js";
import { filled } from "./text.js";
import type { TimedOptions } from "./time.js";

/** The name of an unsigned header, or a function that reads the signed body. */
export type HeaderOrField = string | ((body: SignedBody) => string | undefined);

export interface HmacOptions extends TimedOptions {
  /** The sender's name in texts. Errors: `invalid_option`. */
  readonly name: string;
  /** The header of the signature. Errors: `invalid_option`. */
  readonly header: string;
  /** The text before the signature in its header, such as `"sha256="`. Default none. Errors: `invalid_option`. */
  readonly prefix?: string | undefined;
  /** The encoding of the signature. Errors: `invalid_option`. */
  readonly encoding: "hex" | "base64";
  /** The hash of the HMAC. Default `"SHA-256"`; the others use WebCrypto. Errors: `invalid_option`. */
  readonly hash?: "SHA-256" | "SHA-1" | "SHA-384" | "SHA-512" | undefined;
  /**
   * The encoding of the key in a secret that is text. Default `"utf8"`, which uses the text as it is. Errors:
   * `invalid_option`.
   */
  readonly key?: "utf8" | "base64" | "hex" | undefined;
  /** The header and the unit of the signed time. Requires `before`. Default: no time. Errors: `invalid_option`. */
  readonly timestamp?: { readonly header: string; readonly unit: "s" | "ms" } | undefined;
  /**
   * Returns the text that is signed before the body. It must contain the time, which is digits. Requires
   * `timestamp`. Default: no text. Errors: `invalid_option`.
   */
  readonly before?: ((time: string) => string) | undefined;
  /**
   * Returns the delivery id. A function reads it from the signed body, and the id is then also the event id; a name is
   * that of a header, which is not signed. Default: the SHA-256 of the body. Errors: `invalid_option`.
   */
  readonly id?: HeaderOrField | undefined;
  /**
   * Returns the event's type. Default: the first non-empty string of the body's `type`, `event_type`, `event`.
   * Errors: `invalid_option`.
   */
  readonly type?: HeaderOrField | undefined;
  /**
   * Returns the JSON object of the response if the body only tests the endpoint; any other value means an event. `sign` returns the
   * HMAC of a text in hex digits, with the key that made the request's signature. Default: no body is a test.
   * Errors: `invalid_option`.
   */
  readonly handshake?:
    ((body: SignedBody, sign: (text: string) => MaybePromise<string>) => unknown) | undefined;
  /** The default of the receiver's option of that name, in milliseconds. Default 10,000. */
  readonly handlerTimeoutMs?: number | undefined;
}

/** The milliseconds in each unit of a signed time. */
export const unitMs = { s: 1_000, ms: 1 } as const;

/** The length of an HMAC by its hash, in bytes. */
export const lengths = { "SHA-1": 20, "SHA-256": 32, "SHA-384": 48, "SHA-512": 64 } as const;

/** Readers of signatures by their encoding. */
export const digests: Readonly<Record<"hex" | "base64", (length: number) => ReadDigest>> = {
  hex: hexOf,
  base64: base64Of,
};

/** Decoders of keys by their encoding. */
export const keys: Readonly<
  Record<"utf8" | "base64" | "hex", (key: string) => Uint8Array | undefined>
> = { utf8, base64: fromBase64, hex: fromHex };

const isHeaderName = (value: unknown) => typeof value === "string" && /^[\w-]+$/.test(value);
const isFunction = (value: unknown) => typeof value === "function";
const isKeyOf = (table: object, value: unknown) =>
  typeof value === "string" && Object.hasOwn(table, value);

/** @throws ReceiverConfigError `invalid_option`, `unknown_option` */
export function assertHmacOptions(options: HmacOptions): void {
  assertOptions(options, [
    "name",
    "header",
    "prefix",
    "encoding",
    "hash",
    "key",
    "timestamp",
    "before",
    "id",
    "type",
    "handshake",
    "handlerTimeoutMs",
    "toleranceMs",
  ]);
  const { name, header, prefix = "", encoding, hash = "SHA-256", key = "utf8" } = options;
  const { timestamp, before, id, type, handshake } = options;
  assertValid(filled(name), "name", "`name` must be the sender's name.");
  assertValid(isHeaderName(header), "header", "`header` must be a header name.");
  assertValid(typeof prefix === "string", "prefix", "`prefix` must be text.");
  assertValid(isKeyOf(digests, encoding), "encoding", '`encoding` must be "hex" or "base64".');
  assertValid(
    isKeyOf(lengths, hash),
    "hash",
    '`hash` must be "SHA-256", "SHA-1", "SHA-384" or "SHA-512".',
  );
  assertValid(isKeyOf(keys, key), "key", '`key` must be "utf8", "base64" or "hex".');
  if (timestamp !== undefined) {
    assertOptions(timestamp, ["header", "unit"], "timestamp");
    assertValid(
      isHeaderName(timestamp.header) && isKeyOf(unitMs, timestamp.unit),
      "timestamp",
      '`timestamp` must have the name of a `header`, and "s" or "ms" as its `unit`.',
    );
  }
  assertValid(
    timestamp ? isFunction(before) : before === undefined && options.toleranceMs === undefined,
    "timestamp",
    "`timestamp` and `before` must be set together, and `toleranceMs` needs both.",
  );
  assertValid(
    !before || [before("1"), before("2")].every((text, at) => text.includes(String(at + 1))),
    "before",
    "`before` must return text that contains the time. A time that is not signed offers no protection.",
  );
  for (const [option, field] of Object.entries({ id, type })) {
    assertValid(
      field === undefined || isFunction(field) || isHeaderName(field),
      option,
      `\`${option}\` must be the name of a header, or a function of the body.`,
    );
  }
  assertValid(
    handshake === undefined || isFunction(handshake),
    "handshake",
    "`handshake` must be a function.",
  );
}
