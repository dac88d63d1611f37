/** A known mistake: its name, the cause of the wrong signature, and the fix. */
export interface Mistake {
  readonly id: MistakeId;
  /** The cause, in whole sentences. If mistakes combine, it names each of them. */
  readonly cause: string;
  /** The fix, in whole sentences. */
  readonly fix: string;
}

/** The name of a known mistake. */
export type MistakeId =
  | "missing_header"
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
  missing_header: {
    cause: "The value is missing or empty.",
    fix: "Read the `X-SVC-Signature` header, and check that no proxy removes it.",
  },
  secret_in_value: {
    cause: "The value is or contains the signing secret.",
    fix: "Send the HMAC of the body instead. If the value has left your machine, rotate the secret.",
  },
  placeholder_value: {
    cause:
      "The value has no digest, or a placeholder such as `undefined`, `None` or `[object Promise]` in its place.",
    fix: "Await the HMAC, and encode it as hex before you add the prefix.",
  },
  decorated_value: {
    cause:
      "The value has white space, quotes, brackets or the header name around it, or its digits have quotes or `0x`.",
    fix: "Send only `sha256=` and the hex digits.",
  },
  missing_prefix: {
    cause: "The prefix `sha256=` is missing.",
    fix: "Write `sha256=` before the hex digits.",
  },
  wrong_prefix: {
    cause: "The prefix is not `sha256=`.",
    fix: "Write `sha256=` once, in lowercase, before the hex digits.",
  },
  upper_case_hex: {
    cause: "The hex digits are in uppercase.",
    fix: "Write the hex digits in lowercase.",
  },
  base64: { cause: "The digest is encoded as base64 instead of hex.", fix: hexOnce },
  encoded_twice: {
    cause: "The hex digits of the digest were encoded a second time, as hex or base64.",
    fix: hexOnce,
  },
  unpadded_hex: {
    cause: "Leading zeros are missing from the hex digits.",
    fix: 'Write each byte as two digits: `byte.toString(16).padStart(2, "0")`.',
  },
  truncated: {
    cause: "The digest was truncated.",
    fix: "Keep all 64 hex digits.",
  },

  // Mistakes in the algorithm
  sha1: { cause: "The HMAC uses SHA-1.", fix: "Use HMAC-SHA256." },
  sha512: { cause: "The HMAC uses SHA-512.", fix: "Use HMAC-SHA256." },
  swapped: {
    cause: "The key and the message are swapped.",
    fix: "Use the secret as the key, not as the message.",
  },
  plain_hash: {
    cause: "The value is a plain hash, computed without a key.",
    fix: "Use an HMAC with the secret as its key.",
  },
  concatenated_hash: {
    cause: "The value is a hash of the secret and the message joined together.",
    fix: "Use an HMAC with the secret as its key.",
  },

  // Mistakes in the key
  old_secret: {
    cause: "The key is an old secret.",
    fix: "Load the current secret. During a rotation, verify with both the old and the new secret.",
  },
  other_secret: {
    cause: "The key is the secret of another endpoint.",
    fix: "Each endpoint has its own secret: use the one that was returned for this endpoint.",
  },
  secret_quoted: {
    cause: "The key includes quotes around the secret.",
    fix: "Remove the quotes where the secret is stored, for example in the environment file.",
  },
  secret_space: {
    cause: "The key includes white space around the secret, such as a newline at the end.",
    fix: "Remove the white space where the secret is stored, or trim it when you load it.",
  },
  secret_prefix_stripped: {
    cause: "The key is the secret without `whsec_`.",
    fix: wholeSecret,
  },
  secret_base64_decoded: {
    cause: "The key is the secret decoded from base64.",
    fix: wholeSecret,
  },
  secret_hex_decoded: { cause: "The key is the secret decoded from hex.", fix: wholeSecret },
  secret_missing: {
    cause: "The key is empty or is a placeholder such as `undefined` or `None`.",
    fix: "Check the name of the variable that contains the secret, and check that it is set.",
  },

  // Mistakes in the body
  newline_added: {
    cause: "The signed body has an extra newline at the end.",
    fix: rawBytes,
  },
  newline_removed: {
    cause: "White space at the start or end of the body was removed before signing.",
    fix: rawBytes,
  },
  line_endings: {
    cause: "Line endings in the body were converted to LF or CRLF, or removed, before signing.",
    fix: rawBytes,
  },
  bom_added: {
    cause: "The signed body starts with an extra byte order mark.",
    fix: rawBytes,
  },
  bom_removed: {
    cause: "The byte order mark was removed from the body before signing.",
    fix: rawBytes,
  },
  unescaped_unicode: {
    cause:
      "In the signed body, escapes such as `\\u00e9` or `\\/` were replaced by plain characters. This happens when JSON is parsed and serialized again.",
    fix: rawBytes,
  },
  escaped_slashes: {
    cause:
      "In the signed body, slashes are escaped as `\\/`. This can happen when JSON is parsed and serialized again.",
    fix: rawBytes,
  },
  escaped_unicode: {
    cause:
      "In the signed body, characters are escaped, as in `\\u00e9`. This can happen when JSON is parsed and serialized again.",
    fix: rawBytes,
  },
  reserialized_json: {
    cause: "The signed body is JSON that was parsed and serialized again.",
    fix: rawBytes,
  },
  spaced_json: {
    cause:
      "The signed body is JSON that was parsed and serialized again, with a space after each comma and colon.",
    fix: rawBytes,
  },
  pretty_printed_json: {
    cause: "The signed body is JSON that was parsed and serialized again, with indentation.",
    fix: rawBytes,
  },
  sorted_keys: {
    cause: "The signed body is JSON that was parsed and serialized again, with its keys sorted.",
    fix: rawBytes,
  },
  invalid_utf8_replaced: {
    cause: "The body was decoded as UTF-8 before signing, which replaced its invalid bytes.",
    fix: rawBytes,
  },
  split_characters: {
    cause:
      "The chunks of the body were decoded one by one, which damaged a character that was split between two chunks.",
    fix: "Join the bytes of all chunks, and sign the result.",
  },
  ascii: {
    cause:
      "The body was decoded or encoded as ASCII before signing, which replaced or removed all other characters.",
    fix: rawBytes,
  },
  latin1: { cause: "The body was decoded or encoded as Latin-1 before signing.", fix: rawBytes },
  utf16: { cause: "The body was encoded as UTF-16 before signing.", fix: rawBytes },
  base64_body: {
    cause: "The base64 form of the body was signed instead of its bytes.",
    fix: "Sign the bytes themselves. On AWS Lambda, decode the body first if `isBase64Encoded` is true.",
  },
  quoted_body: {
    cause: "The body was converted to a JSON string, with quotes and escapes, before signing.",
    fix: "Do not call `JSON.stringify` on the text of the body.",
  },
  placeholder_body: {
    cause:
      "A placeholder such as `[object Object]`, `{}` or `undefined` was signed instead of the body.",
    fix: rawBytes,
  },
  doubled_body: {
    cause: "Two copies of the body, one after the other, were signed as one text.",
    fix: "Collect the bytes of each request in a separate buffer.",
  },
  cut_body: {
    cause: "Only the start of the body was signed.",
    fix: "Read the body to its end before you sign it. Count its length in bytes, not in characters.",
  },
  empty_body: {
    cause: "An empty body was signed.",
    fix: "Read the bytes of the body before anything else consumes the stream.",
  },
};

/** Combines the causes and fixes of mistakes that together produced one value. The id is that of the first mistake. */
export function describeMistakes(ids: readonly [MistakeId, ...MistakeId[]]): Mistake {
  const unique = (field: "cause" | "fix") =>
    [...new Set(ids.map((id) => mistakes[id][field]))].join(" ");
  return { id: ids[0], cause: unique("cause"), fix: unique("fix") };
}
