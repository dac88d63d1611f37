/** A known mistake: its name, what the code did wrong, and the fix. */
export interface Mistake {
  readonly id: MistakeId;
  /** The description, in whole sentences: one per mistake if several combine. */
  readonly text: string;
  /** The fix, in whole sentences. */
  readonly remedy: string;
}

/** The name of a known mistake. */
export type MistakeId =
  | "missing_signature"
  | "secret_in_value"
  | "placeholder_value"
  | "decorated_value"
  | "missing_prefix"
  | "wrong_prefix"
  | "upper_case_hex"
  | "base64"
  | "encoded_twice"
  | "unpadded_hex"
  | "truncated"
  | "sha1"
  | "sha512"
  | "swapped"
  | "plain_hash"
  | "concatenated_hash"
  | "old_secret"
  | "other_secret"
  | "secret_quoted"
  | "secret_space"
  | "secret_prefix_stripped"
  | "secret_base64_decoded"
  | "secret_hex_decoded"
  | "secret_missing"
  | "newline_added"
  | "newline_removed"
  | "line_endings"
  | "bom_added"
  | "bom_removed"
  | "unescaped_unicode"
  | "escaped_slashes"
  | "escaped_unicode"
  | "reserialised_json"
  | "spaced_json"
  | "pretty_printed_json"
  | "sorted_keys"
  | "invalid_utf8_replaced"
  | "latin1"
  | "utf16"
  | "base64_body"
  | "quoted_body"
  | "placeholder_body"
  | "empty_body";

const rawBytes = "Sign the bytes of the body as they arrived, before any parser or decoder runs.";
const wholeSecret =
  "Use the UTF-8 bytes of the whole secret as the key, including `whsec_` and without decoding anything.";
const hexOnce = 'Encode the digest as hex exactly once: `digest("hex")`.';

export const mistakes: Readonly<Record<MistakeId, Omit<Mistake, "id">>> = {
  // The value
  missing_signature: {
    text: "The value is absent or empty.",
    remedy: "Read the `X-SVC-Signature` header, and check that no proxy removes it.",
  },
  secret_in_value: {
    text: "The value contains the signing secret.",
    remedy: "Use the HMAC of the body. Rotate the secret if the value has left your machine.",
  },
  placeholder_value: {
    text: "The value contains a placeholder such as `undefined` or `[object Promise]`.",
    remedy: "Await the HMAC, and encode it as hex before you add the prefix.",
  },
  decorated_value: {
    text: "The value has white space, quotes or the header's name around it.",
    remedy: "Remove everything around `sha256=` and the hex digits.",
  },
  missing_prefix: {
    text: "The prefix `sha256=` is missing.",
    remedy: "Write `sha256=` before the hex digits.",
  },
  wrong_prefix: {
    text: "The prefix is not `sha256=`.",
    remedy: "Write `sha256=` before the hex digits, in lower case and once.",
  },
  upper_case_hex: {
    text: "The hex digits are in upper case.",
    remedy: "Write the hex digits in lower case.",
  },
  base64: { text: "The digest is encoded as base64 instead of hex.", remedy: hexOnce },
  encoded_twice: {
    text: "The hex digits of the digest have been encoded again, as hex or base64.",
    remedy: hexOnce,
  },
  unpadded_hex: {
    text: "The hex digits are missing leading zeros.",
    remedy: 'Write each byte as two digits: `byte.toString(16).padStart(2, "0")`.',
  },
  truncated: {
    text: "The digest has been truncated.",
    remedy: "Keep all 64 hex digits.",
  },

  // The algorithm
  sha1: { text: "The HMAC uses SHA-1.", remedy: "Use HMAC-SHA256." },
  sha512: { text: "The HMAC uses SHA-512.", remedy: "Use HMAC-SHA256." },
  swapped: {
    text: "The key and the message are swapped.",
    remedy: "Use the secret as the key and the body as the message.",
  },
  plain_hash: {
    text: "The value is a hash of the body without a key.",
    remedy: "Use an HMAC, with the secret as its key.",
  },
  concatenated_hash: {
    text: "The value is a hash of the secret and the body joined together.",
    remedy: "Use an HMAC, with the secret as its key and the body as its message.",
  },

  // The key
  old_secret: {
    text: "The key is a previous secret.",
    remedy: "Load the current secret. During a rotation, verify with both.",
  },
  other_secret: {
    text: "The key is the secret of another endpoint.",
    remedy: "Each endpoint has its own secret: use the one that was returned for this endpoint.",
  },
  secret_quoted: {
    text: "The key includes quotes around the secret.",
    remedy: "Remove the quotes where the secret is stored, such as in the environment file.",
  },
  secret_space: {
    text: "The key includes white space around the secret, such as a newline at its end.",
    remedy: "Remove the white space where the secret is stored, or trim it when you load it.",
  },
  secret_prefix_stripped: {
    text: "The key is the secret without `whsec_`.",
    remedy: wholeSecret,
  },
  secret_base64_decoded: {
    text: "The key is the secret decoded from base64.",
    remedy: wholeSecret,
  },
  secret_hex_decoded: { text: "The key is the secret decoded from hex.", remedy: wholeSecret },
  secret_missing: {
    text: "The key is empty, or a placeholder such as `undefined`.",
    remedy: "Check the name of the variable that contains the secret, and check that it is set.",
  },

  // The body
  newline_added: {
    text: "The signed body has an additional newline at its end.",
    remedy: rawBytes,
  },
  newline_removed: {
    text: "The signed body is missing the white space at the start or end of the body.",
    remedy: rawBytes,
  },
  line_endings: {
    text: "The signed body has different line endings: LF, CRLF or none.",
    remedy: rawBytes,
  },
  bom_added: {
    text: "The signed body starts with an additional byte order mark.",
    remedy: rawBytes,
  },
  bom_removed: { text: "The signed body is missing the body's byte order mark.", remedy: rawBytes },
  unescaped_unicode: {
    text: "The signed body has characters instead of escapes such as `\\u00e9` or `\\/`, which happens when JSON is parsed and serialised again.",
    remedy: rawBytes,
  },
  escaped_slashes: {
    text: "The signed body has slashes escaped as `\\/`, which happens when JSON is parsed and serialised again.",
    remedy: rawBytes,
  },
  escaped_unicode: {
    text: "The signed body has characters escaped as in `\\u00e9`, which happens when JSON is parsed and serialised again.",
    remedy: rawBytes,
  },
  reserialised_json: {
    text: "The signed body is JSON that was parsed and serialised again.",
    remedy: rawBytes,
  },
  spaced_json: {
    text: "The signed body is JSON that was parsed and serialised again, with a space after each comma and colon.",
    remedy: rawBytes,
  },
  pretty_printed_json: {
    text: "The signed body is JSON that was parsed and serialised again, with indentation.",
    remedy: rawBytes,
  },
  sorted_keys: {
    text: "The signed body is JSON that was parsed and serialised again, with its keys sorted.",
    remedy: rawBytes,
  },
  invalid_utf8_replaced: {
    text: "The signed body was decoded as UTF-8, which replaced its invalid bytes.",
    remedy: rawBytes,
  },
  latin1: { text: "The signed body was decoded or encoded as Latin-1.", remedy: rawBytes },
  utf16: { text: "The signed body was encoded as UTF-16.", remedy: rawBytes },
  base64_body: {
    text: "The signed body is the base64 text of the body.",
    remedy: "Decode the body first, as on AWS Lambda when `isBase64Encoded` is true.",
  },
  quoted_body: {
    text: "The signed body is the body as a JSON string, in quotes and escaped.",
    remedy: "Do not call `JSON.stringify` with the text of the body.",
  },
  placeholder_body: {
    text: "The signed body is a placeholder such as `[object Object]`, `{}` or `undefined`.",
    remedy: rawBytes,
  },
  empty_body: {
    text: "The signed body is empty.",
    remedy: "Read the bytes of the body before anything else consumes the stream.",
  },
};

/** Describes mistakes that together produced one wrong value. The first one determines the id. */
export function describeMistakes(ids: readonly [MistakeId, ...MistakeId[]]): Mistake {
  const unique = (field: "text" | "remedy") =>
    [...new Set(ids.map((id) => mistakes[id][field]))].join(" ");
  return { id: ids[0], text: unique("text"), remedy: unique("remedy") };
}
