/** A known mistake: its name, what the code did wrong, and the fix. */
export interface Mistake {
  readonly id: MistakeId;
  /** The description, in whole sentences. If mistakes combine, it describes each of them. */
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
  | "reserialized_json"
  | "spaced_json"
  | "pretty_printed_json"
  | "sorted_keys"
  | "invalid_utf8_replaced"
  | "split_characters"
  | "ascii"
  | "latin1"
  | "utf16"
  | "base64_body"
  | "quoted_body"
  | "placeholder_body"
  | "doubled_body"
  | "cut_body"
  | "empty_body";

const rawBytes = "Sign the bytes of the body as they arrived, before any parser or decoder runs.";
const wholeSecret =
  "Use the UTF-8 bytes of the whole secret as the key, including any `whsec_`. Do not decode any part of it.";
const hexOnce = 'Encode the digest as hex exactly once: `digest("hex")`.';

export const mistakes: Readonly<Record<MistakeId, Omit<Mistake, "id">>> = {
  // Mistakes in the value
  missing_signature: {
    text: "The value is missing or empty.",
    remedy: "Read the `X-SVC-Signature` header, and check that no proxy removes it.",
  },
  secret_in_value: {
    text: "The value is or contains the signing secret.",
    remedy:
      "Send the HMAC of the body instead. If the value has left your machine, rotate the secret.",
  },
  placeholder_value: {
    text: "The value has no digest, or a placeholder such as `undefined`, `None` or `[object Promise]` in its place.",
    remedy: "Await the HMAC, and encode it as hex before you add the prefix.",
  },
  decorated_value: {
    text: "The value has white space, quotes, brackets or the header name around it, or its digits have quotes or `0x`.",
    remedy: "Send only `sha256=` and the hex digits.",
  },
  missing_prefix: {
    text: "The prefix `sha256=` is missing.",
    remedy: "Write `sha256=` before the hex digits.",
  },
  wrong_prefix: {
    text: "The prefix is not `sha256=`.",
    remedy: "Write `sha256=` once, in lowercase, before the hex digits.",
  },
  upper_case_hex: {
    text: "The hex digits are in uppercase.",
    remedy: "Write the hex digits in lowercase.",
  },
  base64: { text: "The digest is encoded as base64 instead of hex.", remedy: hexOnce },
  encoded_twice: {
    text: "The hex digits of the digest were encoded a second time, as hex or base64.",
    remedy: hexOnce,
  },
  unpadded_hex: {
    text: "Leading zeros are missing from the hex digits.",
    remedy: 'Write each byte as two digits: `byte.toString(16).padStart(2, "0")`.',
  },
  truncated: {
    text: "The digest was truncated.",
    remedy: "Keep all 64 hex digits.",
  },

  // Mistakes in the algorithm
  sha1: { text: "The HMAC uses SHA-1.", remedy: "Use HMAC-SHA256." },
  sha512: { text: "The HMAC uses SHA-512.", remedy: "Use HMAC-SHA256." },
  swapped: {
    text: "The key and the message are swapped.",
    remedy: "Use the secret as the key, not as the message.",
  },
  plain_hash: {
    text: "The value is a plain hash, computed without a key.",
    remedy: "Use an HMAC with the secret as its key.",
  },
  concatenated_hash: {
    text: "The value is a hash of the secret and the message joined together.",
    remedy: "Use an HMAC with the secret as its key.",
  },

  // Mistakes in the key
  old_secret: {
    text: "The key is an old secret.",
    remedy:
      "Load the current secret. During a rotation, verify with both the old and the new secret.",
  },
  other_secret: {
    text: "The key is the secret of another endpoint.",
    remedy: "Each endpoint has its own secret: use the one that was returned for this endpoint.",
  },
  secret_quoted: {
    text: "The key includes quotes around the secret.",
    remedy: "Remove the quotes where the secret is stored, for example in the environment file.",
  },
  secret_space: {
    text: "The key includes white space around the secret, such as a newline at the end.",
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
    text: "The key is empty or is a placeholder such as `undefined` or `None`.",
    remedy: "Check the name of the variable that contains the secret, and check that it is set.",
  },

  // Mistakes in the body
  newline_added: {
    text: "The signed body has an extra newline at the end.",
    remedy: rawBytes,
  },
  newline_removed: {
    text: "White space at the start or end of the body was removed before signing.",
    remedy: rawBytes,
  },
  line_endings: {
    text: "Line endings in the body were converted to LF or CRLF, or removed, before signing.",
    remedy: rawBytes,
  },
  bom_added: {
    text: "The signed body starts with an extra byte order mark.",
    remedy: rawBytes,
  },
  bom_removed: {
    text: "The byte order mark was removed from the body before signing.",
    remedy: rawBytes,
  },
  unescaped_unicode: {
    text: "In the signed body, escapes such as `\\u00e9` or `\\/` were replaced by plain characters. This happens when JSON is parsed and serialized again.",
    remedy: rawBytes,
  },
  escaped_slashes: {
    text: "In the signed body, slashes are escaped as `\\/`. This can happen when JSON is parsed and serialized again.",
    remedy: rawBytes,
  },
  escaped_unicode: {
    text: "In the signed body, characters are escaped, as in `\\u00e9`. This can happen when JSON is parsed and serialized again.",
    remedy: rawBytes,
  },
  reserialized_json: {
    text: "The signed body is JSON that was parsed and serialized again.",
    remedy: rawBytes,
  },
  spaced_json: {
    text: "The signed body is JSON that was parsed and serialized again, with a space after each comma and colon.",
    remedy: rawBytes,
  },
  pretty_printed_json: {
    text: "The signed body is JSON that was parsed and serialized again, with indentation.",
    remedy: rawBytes,
  },
  sorted_keys: {
    text: "The signed body is JSON that was parsed and serialized again, with its keys sorted.",
    remedy: rawBytes,
  },
  invalid_utf8_replaced: {
    text: "The body was decoded as UTF-8 before signing, which replaced its invalid bytes.",
    remedy: rawBytes,
  },
  split_characters: {
    text: "The chunks of the body were decoded one by one, which damaged a character that was split between two chunks.",
    remedy: "Join the bytes of all chunks, and sign the result.",
  },
  ascii: {
    text: "The body was decoded or encoded as ASCII before signing, which replaced or removed all other characters.",
    remedy: rawBytes,
  },
  latin1: { text: "The body was decoded or encoded as Latin-1 before signing.", remedy: rawBytes },
  utf16: { text: "The body was encoded as UTF-16 before signing.", remedy: rawBytes },
  base64_body: {
    text: "The base64 form of the body was signed instead of its bytes.",
    remedy:
      "Sign the bytes themselves. On AWS Lambda, decode the body first if `isBase64Encoded` is true.",
  },
  quoted_body: {
    text: "The body was converted to a JSON string, with quotes and escapes, before signing.",
    remedy: "Do not call `JSON.stringify` on the text of the body.",
  },
  placeholder_body: {
    text: "A placeholder such as `[object Object]`, `{}` or `undefined` was signed instead of the body.",
    remedy: rawBytes,
  },
  doubled_body: {
    text: "Two copies of the body, one after the other, were signed as one text.",
    remedy: "Collect the bytes of each request in a separate buffer.",
  },
  cut_body: {
    text: "Only the start of the body was signed.",
    remedy:
      "Read the body to its end before you sign it. Count its length in bytes, not in characters.",
  },
  empty_body: {
    text: "An empty body was signed.",
    remedy: "Read the bytes of the body before anything else consumes the stream.",
  },
};

/** Describes mistakes that together produced one wrong value. The first one determines the id. */
export function describeMistakes(ids: readonly [MistakeId, ...MistakeId[]]): Mistake {
  const unique = (field: "text" | "remedy") =>
    [...new Set(ids.map((id) => mistakes[id][field]))].join(" ");
  return { id: ids[0], text: unique("text"), remedy: unique("remedy") };
}
