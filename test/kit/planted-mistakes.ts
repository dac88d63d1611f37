import { createHash, createHmac } from "node:crypto";
import type { MistakeId } from "@svc-webhooks/explain";

/** JSON spaced as the sandbox sends it, with everything that serializers write differently. */
export const spaced: string = String.raw`{"type": "email.sent", "b": {"url": "https://example.com/?a=1&b=2", "name": "Zo\u00eb"}, "a": [1.0, {}, []], "subject": "Grüße 😀", "n": 12345678901234567890}`;
/** JSON that survives parsing and `JSON.stringify` unchanged. */
export const compact: string = `{"type":"email.sent","subject":"hello","a":[1,{},[]],"b":true}`;

type Message = string | Uint8Array;

export interface Planted {
  readonly id: MistakeId;
  readonly how: string;
  /** The body that was signed. Default: `compact`. */
  readonly body?: Message;
  readonly signature: string | undefined;
  /** A current secret other than the given one. */
  readonly secrets?: string;
}

export interface PlantedSecrets {
  /** The current secret. */
  readonly secret: string;
  readonly oldSecret: string;
  /** The secret of another endpoint. */
  readonly otherSecret: string;
}

export const crlf: string = '{\r\n  "type": "email.sent"\r\n}\r\n';
export const lf: string = crlf.replaceAll("\r\n", "\n");
export const marked: string = `\uFEFF${compact}`;
export const invalid: Buffer = Buffer.from('{"type":"email.sent","subject":"\xff\xfe"}', "latin1");

const split = Buffer.from("ü😀.");

/** Escapes text like Python's `json.dumps`. */
export const pythonEscapes = (text: string): string =>
  text.replaceAll(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Returns wrong signatures of every known mistake, made with node:crypto as mistaken code would make them. */
export function plantMistakes({
  secret,
  oldSecret,
  otherSecret,
}: PlantedSecrets): readonly Planted[] {
  const hmac = (message: Message, key: Message = secret, hash = "sha256") =>
    createHmac(hash, key).update(message);
  const signed = (message: Message, key: Message = secret) =>
    `sha256=${hmac(message, key).digest("hex")}`;
  const digest = hmac(compact).digest("hex");
  /** A body whose digest has two bytes below 16 and no zero at its start. */
  const withSmallBytes = Array.from({ length: 100 }, (_, n) => `{"n":${n}}`).find((body) =>
    /^[^0](?:..)*.0.(?:..)*0/.test(hmac(body).digest("hex")),
  );
  return [
    { id: "missing_header", how: "no header", signature: undefined },
    { id: "missing_header", how: "an empty header", signature: "" },
    { id: "missing_header", how: "white space", signature: " \n" },
    { id: "secret_in_value", how: "the secret as the digest", signature: `sha256=${secret}` },
    { id: "placeholder_value", how: "a promise", signature: "sha256=[object Promise]" },
    { id: "placeholder_value", how: "the prefix alone", signature: "sha256=" },
    { id: "placeholder_value", how: "no digest", signature: `sha256=${String(undefined)}` },
    { id: "placeholder_value", how: "None", signature: "sha256=None" },
    { id: "placeholder_value", how: "Go's nil", signature: "sha256=<nil>" },
    { id: "decorated_value", how: "bytes of Python", signature: `sha256=b'${digest}'` },
    { id: "decorated_value", how: "all as bytes of Python", signature: `b'sha256=${digest}'` },
    { id: "decorated_value", how: "a list", signature: `["sha256=${digest}"]` },
    { id: "decorated_value", how: "0x", signature: `sha256=0x${digest}` },
    { id: "decorated_value", how: "a newline", signature: `sha256=${digest}\n` },
    { id: "decorated_value", how: "quotes", signature: `"sha256=${digest}"` },
    { id: "decorated_value", how: "a name", signature: `X-SVC-Signature: sha256=${digest}` },
    { id: "missing_prefix", how: "hex alone", signature: digest },
    { id: "wrong_prefix", how: "sha1=", signature: `sha1=${digest}` },
    { id: "wrong_prefix", how: "sha512=", signature: `sha512=${digest}` },
    { id: "wrong_prefix", how: "SHA256=", signature: `SHA256=${digest}` },
    { id: "wrong_prefix", how: "sha256:", signature: `sha256:${digest}` },
    { id: "wrong_prefix", how: "v1=", signature: `v1=${digest}` },
    { id: "wrong_prefix", how: "the prefix twice", signature: `sha256=sha256=${digest}` },
    { id: "upper_case_hex", how: "digits", signature: `sha256=${digest.toUpperCase()}` },
    { id: "base64", how: "base64", signature: `sha256=${hmac(compact).digest("base64")}` },
    { id: "base64", how: "base64url", signature: `sha256=${hmac(compact).digest("base64url")}` },
    { id: "base64", how: "base64, no prefix", signature: hmac(compact).digest("base64") },
    {
      id: "encoded_twice",
      how: "hex of hex",
      signature: `sha256=${Buffer.from(digest).toString("hex")}`,
    },
    {
      id: "encoded_twice",
      how: "base64 of hex",
      signature: `sha256=${Buffer.from(digest).toString("base64")}`,
    },
    {
      id: "unpadded_hex",
      how: "toString(16) alone",
      body: String(withSmallBytes),
      signature: `sha256=${Array.from(hmac(String(withSmallBytes)).digest(), (byte) => byte.toString(16)).join("")}`,
    },
    { id: "truncated", how: "half of it", signature: `sha256=${digest.slice(0, 32)}` },

    { id: "sha1", how: "sha1=", signature: `sha1=${hmac(compact, secret, "sha1").digest("hex")}` },
    {
      id: "sha1",
      how: "under the right prefix",
      signature: `sha256=${hmac(compact, secret, "sha1").digest("hex")}`,
    },
    {
      id: "sha512",
      how: "sha512=",
      signature: `sha512=${hmac(compact, secret, "sha512").digest("hex")}`,
    },
    {
      id: "sha512",
      how: "under the right prefix",
      signature: `sha256=${hmac(compact, secret, "sha512").digest("hex")}`,
    },
    { id: "swapped", how: "key and message", signature: signed(secret, compact) },
    { id: "swapped", how: "with an empty body", body: "", signature: signed(secret, "") },
    {
      id: "plain_hash",
      how: "SHA-256",
      signature: `sha256=${createHash("sha256").update(compact).digest("hex")}`,
    },
    {
      id: "concatenated_hash",
      how: "secret, body",
      signature: `sha256=${createHash("sha256")
        .update(secret + compact)
        .digest("hex")}`,
    },
    {
      id: "concatenated_hash",
      how: "body, secret",
      signature: `sha256=${createHash("sha256")
        .update(compact + secret)
        .digest("hex")}`,
    },

    { id: "other_secret", how: "another endpoint's", signature: signed(compact, otherSecret) },
    { id: "old_secret", how: "the previous one", signature: signed(compact, oldSecret) },
    { id: "secret_quoted", how: "double", signature: signed(compact, `"${secret}"`) },
    { id: "secret_quoted", how: "single", signature: signed(compact, `'${secret}'`) },
    { id: "secret_space", how: "LF", signature: signed(compact, `${secret}\n`) },
    { id: "secret_space", how: "CRLF", signature: signed(compact, `${secret}\r\n`) },
    { id: "secret_space", how: "a space after it", signature: signed(compact, `${secret} `) },
    { id: "secret_space", how: "a space before it", signature: signed(compact, ` ${secret}`) },
    { id: "secret_prefix_stripped", how: "text", signature: signed(compact, secret.slice(6)) },
    {
      id: "secret_base64_decoded",
      how: "without whsec_",
      signature: signed(compact, Buffer.from(secret.slice(6), "base64")),
    },
    {
      id: "secret_base64_decoded",
      how: "whole",
      signature: signed(compact, Buffer.from(secret, "base64")),
    },
    {
      id: "secret_hex_decoded",
      how: "without whsec_",
      signature: signed(compact, Buffer.from(digest, "hex")),
      secrets: `whsec_${digest}`,
    },
    { id: "secret_missing", how: "empty", signature: signed(compact, "") },
    { id: "secret_missing", how: "undefined", signature: signed(compact, String(undefined)) },
    { id: "secret_missing", how: "None", signature: signed(compact, "None") },

    { id: "newline_added", how: "LF", signature: signed(`${compact}\n`) },
    { id: "newline_added", how: "CRLF", signature: signed(`${compact}\r\n`) },
    { id: "newline_removed", how: "LF", body: `${compact}\n`, signature: signed(compact) },
    { id: "newline_removed", how: "trim()", body: ` ${compact}\n\n`, signature: signed(compact) },
    { id: "line_endings", how: "CRLF to LF", body: crlf, signature: signed(lf) },
    { id: "line_endings", how: "LF to CRLF", body: lf, signature: signed(crlf) },
    {
      id: "line_endings",
      how: "curl -d",
      body: lf,
      signature: signed(lf.replaceAll("\n", "")),
    },
    { id: "bom_added", how: "to JSON", signature: signed(marked) },
    {
      id: "bom_removed",
      how: "by a decoder",
      body: marked,
      signature: signed(new TextDecoder().decode(Buffer.from(marked))),
    },
    {
      id: "unescaped_unicode",
      how: "only the escapes",
      body: spaced,
      signature: signed(spaced.replace(String.raw`\u00eb`, "ë")),
    },
    {
      id: "unescaped_unicode",
      how: "of a pair of surrogates",
      body: String.raw`{"type": "\ud83d\ude00"}`,
      signature: signed('{"type": "😀"}'),
    },
    {
      id: "escaped_unicode",
      how: "json.dumps(json.loads(body)) of the same layout",
      body: spaced,
      signature: signed(pythonEscapes(spaced)),
    },
    {
      id: "escaped_slashes",
      how: "PHP, the rest as it was",
      body: '{"url":"https://example.com"}',
      signature: signed(String.raw`{"url":"https:\/\/example.com"}`),
    },
    {
      id: "unescaped_unicode",
      how: "JSON_UNESCAPED_UNICODE of what PHP escapes by default",
      body: String.raw`{"u":"\u00e9","url":"https:\/\/x"}`,
      signature: signed(String.raw`{"u":"é","url":"https:\/\/x"}`),
    },
    {
      id: "unescaped_unicode",
      how: "JSON_UNESCAPED_SLASHES of what PHP escapes by default",
      body: String.raw`{"u":"\u00e9","url":"https:\/\/x"}`,
      signature: signed(String.raw`{"u":"\u00e9","url":"https://x"}`),
    },
    {
      id: "escaped_slashes",
      how: "PHP, of what Python escapes",
      body: String.raw`{"u":"\u00e9","url":"https://x"}`,
      signature: signed(String.raw`{"u":"\u00e9","url":"https:\/\/x"}`),
    },
    {
      id: "escaped_unicode",
      how: "Go",
      body: '{"a":"<b>"}',
      signature: signed(String.raw`{"a":"\u003cb\u003e"}`),
    },
    {
      id: "escaped_unicode",
      how: ".NET",
      body: String.raw`{"a":"<é\">"}`,
      signature: signed(String.raw`{"a":"\u003C\u00E9\u0022\u003E"}`),
    },
    {
      id: "reserialized_json",
      how: "JSON.stringify",
      body: spaced,
      signature: signed(JSON.stringify(JSON.parse(spaced))),
    },
    {
      id: "reserialized_json",
      how: "JSON.stringify, numbers and keys",
      body: '{"b":1.0,"2":1e3,"1":-0,"b":12345678901234567890}',
      signature: signed('{"1":0,"2":1000,"b":12345678901234567000}'),
    },
    {
      id: "reserialized_json",
      how: "json_encode(json_decode())",
      body: spaced,
      signature: signed(
        String.raw`{"type":"email.sent","b":{"url":"https:\/\/example.com\/?a=1&b=2","name":"Zo\u00eb"},"a":[1.0,{},[]],"subject":"Gr\u00fc\u00dfe \ud83d\ude00","n":12345678901234567890}`,
      ),
    },
    {
      id: "reserialized_json",
      how: "other numbers in the same layout",
      body: '{"a": 1.0, "b": [1, 2]}',
      signature: signed('{"a": 1, "b": [1, 2]}'),
    },
    {
      id: "reserialized_json",
      how: "another indentation",
      body: '{\n  "a": 1\n}',
      signature: signed('{\n    "a": 1\n}'),
    },
    {
      id: "spaced_json",
      how: "json.dumps",
      signature: signed('{"type": "email.sent", "subject": "hello", "a": [1, {}, []], "b": true}'),
    },
    ...[2, 4, "\t"].map((indent) => ({
      id: "pretty_printed_json" as const,
      how: `indent ${JSON.stringify(indent)}`,
      body: spaced,
      signature: signed(JSON.stringify(JSON.parse(spaced), null, indent)),
    })),
    {
      id: "pretty_printed_json",
      how: "jq",
      signature: signed(`${JSON.stringify(JSON.parse(compact), null, 2)}\n`),
    },
    {
      id: "sorted_keys",
      how: "compact",
      signature: signed('{"a":[1,{},[]],"b":true,"subject":"hello","type":"email.sent"}'),
    },
    {
      id: "sorted_keys",
      how: "spaced",
      body: '{"b":1,"a":{"d":1,"c":null}}',
      signature: signed('{"a": {"c": null, "d": 1}, "b": 1}'),
    },
    {
      id: "invalid_utf8_replaced",
      how: "toString()",
      body: invalid,
      signature: signed(invalid.toString()),
    },
    ...[1, 3, 4, 5].map((at) => ({
      id: "split_characters" as const,
      how: `after ${at} bytes`,
      body: split,
      signature: signed(split.subarray(0, at).toString() + split.subarray(at).toString()),
    })),
    ...[
      { how: ".NET", signed: spaced.replaceAll(/[^\0-\x7f]/g, "?") },
      { how: "Python, replaced", signed: spaced.replaceAll(/[^\0-\x7f]/gu, "?") },
      { how: "Python, ignored", signed: spaced.replaceAll(/[^\0-\x7f]/g, "") },
    ].map(({ how, signed: text }) => ({
      id: "ascii" as const,
      how,
      body: spaced,
      signature: signed(text),
    })),
    ...["?", "\uFFFD"].map((by) => ({
      id: "ascii" as const,
      how: `each byte became ${by}`,
      body: spaced,
      signature: signed(
        Buffer.from(spaced)
          .toString("latin1")
          .replaceAll(/[^\0-\x7f]/g, by),
      ),
    })),
    {
      id: "latin1",
      how: "decoded",
      body: spaced,
      signature: signed(Buffer.from(spaced).toString("latin1")),
    },
    {
      id: "latin1",
      how: "encoded",
      body: spaced,
      signature: signed(Buffer.from(spaced, "latin1")),
    },
    {
      id: "utf16",
      how: "Encoding.Unicode",
      body: spaced,
      signature: signed(Buffer.from(spaced, "utf16le")),
    },
    {
      id: "utf16",
      how: "Encoding.BigEndianUnicode",
      body: spaced,
      signature: signed(Buffer.from(spaced, "utf16le").swap16()),
    },
    {
      id: "base64_body",
      how: "Lambda",
      signature: signed(Buffer.from(compact).toString("base64")),
    },
    { id: "quoted_body", how: "JSON.stringify(text)", signature: signed(JSON.stringify(compact)) },
    {
      id: "placeholder_body",
      how: "String(object)",
      signature: signed(String(JSON.parse(compact))),
    },
    { id: "placeholder_body", how: "an unparsed body", signature: signed(JSON.stringify({})) },
    { id: "doubled_body", how: "a buffer that is kept", signature: signed(compact + compact) },
    { id: "cut_body", how: "one byte less", signature: signed(compact.slice(0, -1)) },
    { id: "cut_body", how: "the first chunk", signature: signed(compact.slice(0, 10)) },
    {
      id: "cut_body",
      how: "the number of characters",
      body: `["${"ü".repeat(2_000)}"]`,
      signature: signed(Buffer.from(`["${"ü".repeat(2_000)}"]`).subarray(0, 2_004)),
    },
    { id: "empty_body", how: "a consumed stream", signature: signed("") },
  ];
}
