import { ConfigError, sign, verify, type SecretKey } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { describeMistakes, type Mistake, type MistakeId } from "./mistakes.js";
import { assertKeys } from "./search/assert-keys.js";
import { bytesFrom, concat, utf8 } from "./search/bytes.js";
import { sha256Hex } from "./search/hash.js";
import { search } from "./search/search.js";

export interface ExplainRequest {
  /** The exact bytes of the body. */
  readonly body: Uint8Array;
  /** The `X-SVC-Signature` value to explain, either received or computed by your code. Undefined if it is absent. */
  readonly signature: string | undefined;
  /**
   * The text that is signed before the body, such as a time and a dot. Default: none, as with the service's
   * deliveries.
   */
  readonly before?: string | undefined;
  /**
   * The current secret, or a list of all secrets that are currently valid. `first_difference` uses the signature made
   * with the first secret.
   */
  readonly secrets: SecretKey | readonly SecretKey[];
  /**
   * Secrets that have been replaced. A value signed with one of them is reported as the mistake `old_secret`. Default:
   * none.
   */
  readonly previousSecrets?: readonly SecretKey[] | undefined;
  /**
   * Secrets of other endpoints. A value signed with one of them is reported as the mistake `other_secret`. Only the
   * first five are also tried in altered forms and in combinations with other mistakes. Default: none.
   */
  readonly otherSecrets?: readonly SecretKey[] | undefined;
  /**
   * Whether to look only for mistakes that are found with little work. Set it for values that anyone can send. The
   * search then omits combinations, damage from reading chunks (`cut_body`, `split_characters`), and changes of a body
   * that has more than 8,192 bytes. Default: false.
   */
  readonly quick?: boolean | undefined;
}

/** The reason why a signature differs from the correct one. It contains no secret. */
export interface Explanation {
  /**
   * `same`: the value is exactly the correct signature, made with a current secret. `known_mistake`: `mistake` names
   * the cause. `unknown`: no mistake that was checked produces this value.
   */
  readonly verdict: "same" | "known_mistake" | "unknown";
  /** The mistake, with its cause and its fix. Present if the verdict is `known_mistake`. */
  readonly mistake?: Mistake;
  /** The next step, with the values to compare. Present if the verdict is `unknown`. */
  readonly next_step?: string;
  /** The first difference from the correct signature. Present unless the verdict is `same`. */
  readonly first_difference?: FirstDifference;
  /** The first difference between the signed bytes and the body. Present if the mistake changed the body. */
  readonly body_difference?: BodyDifference;
  /**
   * The ids of the mistakes that were checked before the verdict, and `combinations` for combinations of two mistakes.
   * `combinations` is absent if the body has more than 16,384 bytes, or if 10,000 digests do not cover all combinations
   * of two mistakes. Mistakes that change the body are absent if the body has more than 4 MiB. With `quick`, more ids
   * are absent.
   */
  readonly checked: readonly (MistakeId | "combinations")[];
}

/** The first difference between the value and the correct signature. */
export interface FirstDifference {
  /** The zero-based position, in UTF-16 code units. */
  readonly at: number;
  /** The correct signature's character at this position, or an empty string at its end. */
  readonly signed: string;
  /** The value's character at this position, or an empty string at its end. */
  readonly yours: string;
}

/** The first difference between the signed bytes and the body. */
export interface BodyDifference {
  /** The number of bytes that were signed instead of the body. */
  readonly bytes: number;
  /** The zero-based position of the first byte that differs, or of the start of its character if the body is UTF-8. */
  readonly at: number;
  /** The text before that position, identical in both: at most 15 bytes. */
  readonly before: string;
  /** Up to 64 bytes of the body from that position, as text. */
  readonly body: string;
  /** Up to 64 of the signed bytes from that position, as text. */
  readonly yours: string;
}

/**
 * Names the mistake that made a signature wrong, such as a body that was parsed and re-serialized, or a secret with a
 * newline. It computes the signature that each known mistake would produce, then those of combinations of mistakes,
 * until a signature matches the value. A mistake is never accepted: only the correct signature results in `same`.
 * Uppercase hex digits, which `verify` accepts, are a mistake here.
 *
 * Hostile bodies and values never cause an error. The work is bounded: for each secret, at most some 250 digests of the
 * body and of changed bodies, and some 2,000 of cut bodies. Up to 10,000 digests of combinations follow if the body has
 * at most 16,384 bytes. The function yields to the event loop after at most 1,000 digests, and between the variants of
 * a larger body.
 *
 * @throws ConfigError (as a rejection) `invalid_secret` for a current secret that a receiver would reject, or if there
 *   is none; `invalid_option` for a body that is not bytes, a signature that is not a string, or previous or other
 *   secrets that are not a list of secrets
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { sign } from "svc-webhooks";
 * import { explain } from "@svc-webhooks/explain";
 *
 * const body = new TextEncoder().encode('{ "type": "email.sent" }');
 * const signature = await sign('{"type":"email.sent"}', "whsec_test");
 * const { verdict, mistake } = await explain({ body, signature, secrets: "whsec_test" });
 * assert.equal(verdict, "known_mistake");
 * assert.equal(mistake?.id, "reserialized_json");
 * ```
 */
export async function explain(request: ExplainRequest): Promise<Explanation> {
  // `Object` turns null and undefined, which JavaScript callers may pass, into an object without a body.
  const body = bytesFrom((Object(request) as ExplainRequest).body);
  const { previousSecrets = [], otherSecrets = [], quick = false } = request;
  const signature = request.signature ?? "";
  assertValid(
    typeof signature === "string",
    "signature",
    "`signature` must be a string, or undefined if it is absent.",
  );
  assertKeys(previousSecrets, "previousSecrets");
  assertKeys(otherSecrets, "otherSecrets");
  const secrets = isList(request.secrets) ? request.secrets : [request.secrets];
  if (secrets.length === 0)
    throw new ConfigError("invalid_secret", "secrets", "`secrets` needs at least one secret.");
  const [current = ""] = secrets;
  const before = utf8(request.before ?? "");
  const message = concat(before, body);
  const signed = await sign(message, current);
  for (const secret of secrets) {
    const { ok } = await verify(message, signature, secret);
    if (ok && signature === signature.toLowerCase()) return { verdict: "same", checked: [] };
  }
  const first_difference = firstDifference(signed, signature);
  const keys = { current: secrets, previous: previousSecrets, other: otherSecrets };
  const {
    found: ids,
    checked,
    body: signedBody,
  } = await search(body, signature, keys, before, quick);
  const [first, ...others] = ids;
  if (first === undefined) {
    const next_step = await nextStep(message);
    return { verdict: "unknown", next_step, first_difference, checked };
  }
  const mistake = describeMistakes([first, ...others]);
  return {
    verdict: "known_mistake",
    mistake,
    first_difference,
    ...(signedBody ? { body_difference: bodyDifference(body, signedBody) } : {}),
    checked,
  };
}

// Needed because `Array.isArray` does not narrow to readonly arrays.
const isList = (secrets: ExplainRequest["secrets"]): secrets is readonly SecretKey[] =>
  Array.isArray(secrets);

async function nextStep(message: Uint8Array<ArrayBuffer>): Promise<string> {
  const sha256 = await sha256Hex(message);
  return `Print the length and the SHA-256 of the bytes that your code signs. The correct signature covers ${message.length} bytes, with the SHA-256 ${sha256}. If your values are the same, the secret or the algorithm differs. Otherwise, the bytes differ.`;
}

function firstDifference(signed: string, yours: string): FirstDifference {
  let index = 0;
  while (index < signed.length && signed[index] === yours[index]) index += 1;
  return { at: index, signed: signed.charAt(index), yours: yours.charAt(index) };
}

function bodyDifference(body: Uint8Array, yours: Uint8Array): BodyDifference {
  let offset = 0;
  while (offset < body.length && body[offset] === yours[offset]) offset += 1;
  offset = startOfCharacter(body, offset);
  return {
    bytes: yours.length,
    at: offset,
    before: textOf(body, startOfCharacter(body, Math.max(0, offset - 12)), offset),
    body: textOf(body, offset, offset + 64),
    yours: textOf(yours, offset, offset + 64),
  };
}

const textOf = (bytes: Uint8Array, from: number, to: number) =>
  new TextDecoder().decode(bytes.subarray(from, to));

/** Returns the start of the UTF-8 sequence that contains this position. */
function startOfCharacter(bytes: Uint8Array, offset: number): number {
  let start = offset;
  while (start > offset - 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}
