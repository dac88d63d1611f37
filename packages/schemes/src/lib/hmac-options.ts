import type { MaybePromise, SignedBody } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { fromBase64 } from "./base64.js";
import { utf8 } from "./bytes.js";
import { base64Of, hexOf, type ReadDigest } from "./digests.js";
import { fromHex } from "./hex.js";
import { filled } from "./text.js";
import type { TimedOptions } from "./time.js";

/** The name of an unsigned header, or a function that reads the signed body. */
export type HeaderOrField = string | ((body: SignedBody) => string | undefined);

export interface HmacOptions extends TimedOptions {
  /** The sender's name, for the receiver's log and error texts. Errors: `invalid_option`. */
  readonly name: string;
  /** The name of the header with the signature. Errors: `invalid_option`. */
  readonly header: string;
  /** The text before the signature in its header, such as `"sha256="`. Default: none. Errors: `invalid_option`. */
  readonly prefix?: string | undefined;
  /**
   * The character between the signatures of a sender that lists one for each active secret, such as `","` for
   * `v1=<hex>,v1=<hex>`. Only parts that begin with `prefix` are signatures, at most five; other parts are skipped. If
   * a request has the header twice, the values arrive joined by `", "` and are malformed. Default: one signature.
   * Errors: `invalid_option`.
   */
  readonly separator?: "," | ";" | " " | undefined;
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
   * Returns the text that is signed before the body. The text must contain the time, a string of digits. Requires
   * `timestamp`. Default: no text. Errors: `invalid_option`.
   */
  readonly before?: ((time: string) => string) | undefined;
  /**
   * Selects the delivery id: a function reads it from the signed body, and the id is then also the event id; a string
   * is the name of a header, which is not signed. Default: the SHA-256 of the body. Errors: `invalid_option`.
   */
  readonly id?: HeaderOrField | undefined;
  /**
   * Selects the event's type: a function reads it from the signed body; a string is the name of a header, which is not
   * signed. Default: the first non-empty string of the body's `type`, `event_type`, `event`. Errors: `invalid_option`.
   */
  readonly type?: HeaderOrField | undefined;
  /**
   * For a body that is a JSON list: the type of its event, and the field that contains the list. With `"events"`, `[…]`
   * becomes `{ type: "events", events: […] }`. `id`, `type` and `handshake` receive that event. The list is one
   * delivery. Default: a list is refused as `malformed_body`. Errors: `invalid_option`.
   */
  readonly list?: string | undefined;
  /**
   * Returns the JSON object to respond with, or a promise of it, if the body only tests the endpoint. Any other value
   * means that the body is an event. `sign` returns the HMAC of a text in hex digits, with the key that made the
   * request's signature. Default: no body is a test. Errors: `invalid_option`.
   */
  readonly handshake?:
    ((body: SignedBody, sign: (text: string) => MaybePromise<string>) => unknown) | undefined;
  /** The default of the receiver's option `handlerTimeoutMs`, in milliseconds. Default 10,000. */
  readonly handlerTimeoutMs?: number | undefined;
}

/** The milliseconds in each unit of a signed time. */
export const unitMs = { s: 1_000, ms: 1 } as const;

/** The length of an HMAC in bytes, by its hash. */
export const lengths = { "SHA-1": 20, "SHA-256": 32, "SHA-384": 48, "SHA-512": 64 } as const;

/** For each encoding, the function that returns a reader of signatures of a given length in bytes. */
export const digests: Readonly<Record<"hex" | "base64", (length: number) => ReadDigest>> = {
  hex: hexOf,
  base64: base64Of,
};

/** The decoders of keys, by encoding. */
export const keys: Readonly<
  Record<"utf8" | "base64" | "hex", (key: string) => Uint8Array | undefined>
> = { utf8, base64: fromBase64, hex: fromHex };

const isHeaderName = (value: unknown) => typeof value === "string" && /^[\w-]+$/.test(value);
const isFunction = (value: unknown) => typeof value === "function";
const isKeyOf = (table: object, value: unknown) =>
  typeof value === "string" && Object.hasOwn(table, value);

/** Asserts that an option is valid. `text` continues the sentence that begins with the option's name. */
const check = (ok: unknown, option: string, text: string) =>
  assertValid(ok, option, `\`${option}\` ${text}`);

/** @throws ConfigError `invalid_option`, `unknown_option` */
export function assertHmacOptions(options: HmacOptions): void {
  assertOptions(options, [
    "name",
    "header",
    "prefix",
    "separator",
    "encoding",
    "hash",
    "key",
    "timestamp",
    "before",
    "id",
    "type",
    "list",
    "handshake",
    "handlerTimeoutMs",
    "toleranceMs",
  ]);
  const {
    name,
    header,
    prefix = "",
    separator,
    encoding,
    hash = "SHA-256",
    key = "utf8",
  } = options;
  const { timestamp, before, id, type, list, handshake } = options;
  check(filled(name), "name", "must be the sender's name.");
  check(isHeaderName(header), "header", "must be a header name.");
  check(typeof prefix === "string", "prefix", "must be text.");
  check(
    [undefined, ",", ";", " "].includes(separator) && !prefix.includes(separator ?? "\0"),
    "separator",
    'must be ",", ";" or " ", and not in `prefix`.',
  );
  check(isKeyOf(digests, encoding), "encoding", 'must be "hex" or "base64".');
  check(isKeyOf(lengths, hash), "hash", 'must be "SHA-256", "SHA-1", "SHA-384" or "SHA-512".');
  check(isKeyOf(keys, key), "key", 'must be "utf8", "base64" or "hex".');
  if (timestamp !== undefined) {
    assertOptions(timestamp, ["header", "unit"], "timestamp");
    check(
      isHeaderName(timestamp.header) && isKeyOf(unitMs, timestamp.unit),
      "timestamp",
      'must have the name of a `header`, and "s" or "ms" as its `unit`.',
    );
  }
  check(
    timestamp ? isFunction(before) : before === undefined && options.toleranceMs === undefined,
    "timestamp",
    "and `before` must be set together, and `toleranceMs` needs both.",
  );
  check(
    !before ||
      ["1", "2"].every((time) => {
        const text: unknown = before(time);
        return typeof text === "string" && text.includes(time);
      }),
    "before",
    "must return text that contains the time. A time that is not signed offers no protection.",
  );
  for (const [option, field] of Object.entries({ id, type })) {
    check(
      field === undefined || isFunction(field) || isHeaderName(field),
      option,
      "must be the name of a header, or a function of the body.",
    );
  }
  check(
    list === undefined || (filled(list) && list !== "type"),
    "list",
    'must be the name of a field, but not "type".',
  );
  check(handshake === undefined || isFunction(handshake), "handshake", "must be a function.");
}
