import type { OutcomeCode } from "@svc-webhooks/core";
import { acceptedProbes } from "./accepted.js";
import { notJson, plain } from "./bodies.js";
import { Enough, isError, saw, type Examining } from "./examining.js";
import { finding, type Finding } from "./findings.js";
import { forgery } from "./forged.js";
import { bodyGuesses, keyGuesses } from "./guesses.js";
import { identify } from "./identify.js";
import { isSuccess, type Reply } from "./probe.js";

/** Sends the simplest genuine delivery. */
export async function examineGenuine(examining: Examining): Promise<Reply> {
  const { ask, expectMore, findings, secret, previousSecrets } = examining;
  const body = plain();
  const reply = await ask({ name: "a genuine delivery", body });
  if (isSuccess(reply)) return reply;
  expectMore(-acceptedProbes);
  const { status, code, location } = reply;
  if (status !== null && status >= 300 && status < 400) {
    findings.push(finding("redirects", `${saw(reply)} It leads to ${location ?? "no location"}.`));
    throw new Enough();
  }
  if (status === 404 || status === 405) {
    findings.push(await notFound(reply, examining));
    throw new Enough();
  }
  const known = knownCode(reply);
  if (known) {
    findings.push(known);
    return reply;
  }
  // The signature was right: the receiver would refuse any other one.
  const isVerified = code !== undefined && verifiedOutcomes.has(code);
  const guesses = [...keyGuesses(body, secret, previousSecrets), ...bodyGuesses(body, secret)];
  try {
    const guessed = isVerified ? undefined : await identify(body, guesses, reply, examining);
    findings.push(guessed ?? (await refused(reply, examining)));
  } catch (error) {
    // The refusal is a finding, even if a limit or a lock hides its cause.
    if (error instanceof Enough) findings.push(unknownCause(reply));
    throw error;
  }
  return reply;
}

async function notFound(reply: Reply, { sendToOtherSlash }: Examining): Promise<Finding> {
  const other = await sendToOtherSlash({ name: "the path with or without a slash", body: plain() });
  const exists = other.status !== null && other.status !== 404 && other.status !== 405;
  if (!exists) return finding("not_found", saw(reply));
  return finding(
    "not_found",
    `${saw(reply)} The other form of the path has status ${other.status}.`,
    {
      fix: "Add a slash to the end of the path, or remove the one that is there.",
    },
  );
}

/** Returns the finding for the code that a receiver of svc-webhooks states itself. */
function knownCode(reply: Reply): Finding | undefined {
  switch (reply.code ?? "") {
    case "body_unavailable":
      return finding("parser_before_receiver", saw(reply));
    case "signature_missing":
    case "signature_malformed":
    case "delivery_id_missing":
    case "delivery_id_malformed":
      return finding("header_removed", saw(reply));
    default:
      return undefined;
  }
}

/** The outcomes of svc-webhooks receivers that come after the verification. */
const verifiedOutcomes: ReadonlySet<string> = new Set<OutcomeCode>([
  "handler_failed",
  "handler_timeout",
  "event_invalid",
  "event_untyped",
  "store_unavailable",
  "in_flight",
  "draining",
]);

const unknownCause = (reply: Reply): Finding =>
  finding(isError(reply) ? "genuine_failed" : "wrong_secret", saw(reply));

/** Returns why a genuine delivery is refused if no guess is accepted. */
async function refused(reply: Reply, { ask, expectMore, send }: Examining): Promise<Finding> {
  expectMore(1);
  const forged = await ask({ name: "a forged delivery", ...(await forgery()) });
  if (forged.status !== reply.status) {
    // The signature is recognised, so something else is refused.
    return finding("genuine_failed", `${saw(reply)} ${saw(forged)}`);
  }
  if (reply.code === undefined && (reply.status === 401 || reply.status === 403)) {
    expectMore(1);
    const slow = await send({ name: "a body in two pieces", body: plain(), how: "pieces" });
    // A receiver that responds before the body has arrived has not compared its signature.
    if (slow.early && slow.status === reply.status) {
      return finding(
        "guarded",
        `${saw(reply)} A forged delivery has the same status, before its body has been sent.`,
      );
    }
  }
  expectMore(2);
  const [json, text] = [
    await ask({ name: "unsigned JSON", body: plain(), signature: undefined }),
    await ask({ name: "unsigned text that is not JSON", body: notJson(), signature: undefined }),
  ];
  if (reply.code === undefined && json.status !== text.status) {
    const both = `${saw(reply)} Unsigned JSON has status ${json.status}, other text ${text.status}.`;
    return finding("parser_before_receiver", both);
  }
  return unknownCause(reply);
}
