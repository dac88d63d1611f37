import type { Scheme, Secrets } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { assertKeys } from "./search/assert-keys.js";
import { bytesFrom } from "./search/bytes.js";
import type { Arrived } from "./senders/arrived.js";
import { judge, type Judgment } from "./senders/judge.js";
import { keyOf } from "./senders/key.js";
import type { SenderMistake } from "./senders/mistake.js";
import { explainRefusal, nextStep } from "./senders/refusal.js";

export type { Judgment, SenderMistake };
export { describeMs } from "./senders/describe-ms.js";
export type { SenderMistakeId } from "./senders/mistake.js";

/** A request from a sender, as it arrived. */
export interface SenderRequest {
  /** The name of a known sender, or the scheme of another sender. */
  readonly scheme: SenderName | Scheme;
  /** The names and values of the headers, such as a `Headers` object. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
  /** The exact bytes of the body. */
  readonly body: Uint8Array;
  /** The time of arrival, in epoch milliseconds. Default: now. */
  readonly at?: number | undefined;
}

export interface JudgeRequest extends SenderRequest {
  /** The secrets of the receiver. */
  readonly secret: Secrets;
}

export interface ExplainSenderRequest extends SenderRequest {
  /** The secret of the receiver. */
  readonly secret: string;
  /**
   * Secrets that have been replaced. A signature made with one of them is reported as the mistake `old_secret`.
   * Default: none.
   */
  readonly previousSecrets?: readonly string[] | undefined;
  /** Whether to look only for mistakes that are found with little work, like `quick` of `explain`. Default: false. */
  readonly quick?: boolean | undefined;
}

/** The outcome of a request, and the reason if a receiver refuses it. It contains no secret. */
export interface RequestExplanation extends Judgment {
  /** The cause. Present if the signature is missing or refused, and a known mistake explains why. */
  readonly mistake?: SenderMistake;
  /**
   * The next step, with the values to compare. Present if the signature is well-formed but refused, and no known
   * mistake explains it.
   */
  readonly next_step?: string;
}

/**
 * Resolves to the outcome that a request would have in a receiver with this scheme and a handler that does nothing.
 *
 * @throws ConfigError (as a rejection) `invalid_secret` for a secret that the scheme refuses, `invalid_option`
 *   for an unknown sender, a body that is not bytes, headers other than pairs of strings, or a time that is not finite
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { judgeRequest } from "@svc-webhooks/explain/senders";
 * import { senders } from "svc-webhooks/schemes/senders";
 *
 * const secret = "whsec_0123456789abcdef0123456789abcdef";
 * const text = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
 * const headers = Object.entries(await senders.stripe.sign(text, { secret }));
 * const body = new TextEncoder().encode(text);
 * const { isGenuine, outcome } = await judgeRequest({ scheme: "stripe", headers, body, secret });
 * assert.deepEqual([isGenuine, outcome.code], [true, "processed"]);
 * ```
 */
export async function judgeRequest(request: JudgeRequest): Promise<Judgment> {
  return judge(schemeOf(request), request.secret, arrivedOf(request));
}

/**
 * Judges a request like {@link judgeRequest}, and names the mistake for which it is refused: one that `explain` knows,
 * or one that is common with senders, such as the header of another scheme, a time in milliseconds, or a wrong clock. A
 * mistake is never accepted.
 *
 * Hostile headers and bodies never cause an error. The work is bounded like that of `explain`.
 *
 * @throws ConfigError (as a rejection) `invalid_secret` for a secret that the scheme refuses, `invalid_option`
 *   for an unknown sender, a body that is not bytes, headers other than pairs of strings, a time that is not finite, or
 *   previous secrets that are not a list
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { explainRequest } from "@svc-webhooks/explain/senders";
 * import { senders } from "svc-webhooks/schemes/senders";
 *
 * const secret = "whsec_0123456789abcdef0123456789abcdef";
 * const headers = Object.entries(await senders.stripe.sign('{"id":"evt_1"}', { secret }));
 * const body = new TextEncoder().encode('{"id":"evt_1"}\n');
 * const { outcome, mistake } = await explainRequest({ scheme: "stripe", headers, body, secret });
 * assert.deepEqual([outcome.code, mistake?.id], ["signature_mismatch", "newline_removed"]);
 * ```
 */
export async function explainRequest(request: ExplainSenderRequest): Promise<RequestExplanation> {
  const scheme = schemeOf(request);
  const { secret, previousSecrets = [], quick = false } = request;
  assertKeys(previousSecrets, "previousSecrets");
  for (const previous of previousSecrets) keyOf(scheme, previous, "previous secret");
  const arrived = arrivedOf(request);
  const judgment = await judge(scheme, secret, arrived);
  if (judgment.isGenuine) return judgment;
  const refused = { scheme, arrived, judgment, secret, previousSecrets, quick };
  const mistake = await explainRefusal(refused);
  if (mistake) return { ...judgment, mistake };
  // Names values to compare only for a well-formed signature. Otherwise, neither the secret nor the body is the cause.
  const { code } = judgment.outcome;
  if (code !== "signature_mismatch" && code !== "signature_stale") return judgment;
  return { ...judgment, next_step: await nextStep(refused) };
}

function schemeOf(request: SenderRequest): Scheme {
  // `Object` turns null and undefined, which JavaScript callers may pass, into an object without a scheme.
  const { scheme } = Object(request) as SenderRequest;
  const known =
    typeof scheme === "string" && Object.hasOwn(senders, scheme) ? senders[scheme].scheme : scheme;
  assertValid(
    typeof known === "object" && known !== null,
    "scheme",
    `\`scheme\` must be a scheme, or one of these names: ${Object.keys(senders).join(", ")}.`,
  );
  return known;
}

function arrivedOf({ headers, body, at = Date.now() }: SenderRequest): Arrived {
  const bytes = bytesFrom(body);
  assertValid(Number.isFinite(at), "at", "`at` must be a time in epoch milliseconds.");
  assertValid(
    typeof headers?.[Symbol.iterator] === "function",
    "headers",
    "`headers` must be a list of names and values, such as a Headers object or Object.entries(headers).",
  );
  const pairs = [...headers];
  assertValid(
    pairs.every(
      (pair) =>
        Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string"),
    ),
    "headers",
    "Each item of `headers` must be a name and a value, both strings.",
  );
  return { headers: pairs, body: bytes, at };
}
