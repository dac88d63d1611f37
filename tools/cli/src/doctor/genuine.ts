import type { OutcomeCode } from "@svc-webhooks/core";
import { tamper } from "@svc-webhooks/testing";
import { acceptedProbes } from "./accepted.js";
import { Enough, isError, replyText, type Examining } from "./examining.js";
import { finding, type Finding, type FindingId } from "./findings.js";
import { identify } from "./identify.js";
import { isSuccess, type Reply } from "./probe.js";

/**
 * Sends a plain genuine delivery, and resolves to the reply. Adds a finding if the delivery is rejected, or if it is
 * ignored although a handler is expected. Rejects with {@link Enough} if the examination ends here, such as after a
 * redirect or a 404.
 */
export async function examineGenuine(examining: Examining): Promise<Reply> {
  const { ask, bodies, expectMore, findings, signing } = examining;
  const body = bodies.plain();
  const reply = await ask({ name: "a genuine delivery", body });
  if (isSuccess(reply)) {
    if (examining.expectsHandler && reply.code === "ignored")
      findings.push(finding("ignored", replyText(reply)));
    return reply;
  }
  expectMore(-acceptedProbes);
  const { status, location } = reply;
  if (status !== null && status >= 300 && status < 400) {
    findings.push(
      finding("redirects", `${replyText(reply)} It redirects to ${location ?? "no location"}.`),
    );
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
  const guesses = await signing.guessesOf(body);
  try {
    const all = [...guesses.keys, ...guesses.bodies];
    const guessed = await identify(guesses, all, reply, examining);
    findings.push(guessed ?? (await refused(reply, examining)));
  } catch (error) {
    // Reports the rejection even if the search for its cause ends early, for example after a lockout.
    if (error instanceof Enough) findings.push(unknownCause(reply));
    throw error;
  }
  return reply;
}

async function notFound(reply: Reply, { bodies, sendToOtherSlash }: Examining): Promise<Finding> {
  const probe = { name: "the path with or without a slash", body: bodies.plain() };
  const other = await sendToOtherSlash(probe);
  const exists = other.status !== null && other.status !== 404 && other.status !== 405;
  if (!exists) return finding("not_found", replyText(reply));
  return finding(
    "not_found",
    `${replyText(reply)} With the trailing slash added or removed, the path gets status ${other.status}.`,
    {
      fix: "Add a slash to the end of the path, or remove the one that is there.",
    },
  );
}

/** Returns the finding for the outcome code of an svc-webhooks receiver, or undefined if the cause is still unknown. */
function knownCode(reply: Reply): Finding | undefined {
  const { code } = reply;
  // `signature_mismatch` does not show why the signatures differ. The signatures that mistaken receivers compute may
  // show it.
  if (code === undefined || code === "signature_mismatch") return undefined;
  return finding(mistakes[code] ?? code, replyText(reply));
}

/** The findings for mistakes that receivers without svc-webhooks make too, by outcome code. */
const mistakes: Readonly<Partial<Record<OutcomeCode, FindingId>>> = {
  body_unavailable: "parser_before_receiver",
  signature_missing: "header_removed",
  signature_malformed: "header_removed",
  delivery_id_missing: "header_removed",
  delivery_id_malformed: "header_removed",
};

const unknownCause = (reply: Reply): Finding =>
  finding(isError(reply) ? "genuine_failed" : "wrong_secret", replyText(reply));

/**
 * Resolves to the finding about the rejection of a genuine delivery, if the receiver accepted none of the guessed
 * signatures.
 */
async function refused(
  reply: Reply,
  { ask, bodies, expectMore, send, signing }: Examining,
): Promise<Finding> {
  const { plain, notJson } = bodies;
  const unsigned = async (body: Uint8Array) => tamper.missingHeader(await signing.deliver(body));
  expectMore(1);
  const forged = await ask({
    name: "a forged delivery",
    ...(await tamper.wrongSecret(await signing.deliver(plain()))),
  });
  if (forged.status !== reply.status) {
    // The reply to a forged delivery differs, so the signature was checked and something else failed.
    return finding("genuine_failed", `${replyText(reply)} ${replyText(forged)}`);
  }
  if (reply.code === undefined && (reply.status === 401 || reply.status === 403)) {
    expectMore(1);
    const slow = await send({ name: "a body in two chunks", body: plain(), how: "pieces" });
    // A receiver that responds before the whole body has arrived cannot have verified the signature.
    if (slow.early && slow.status === reply.status) {
      return finding(
        "guarded",
        `${replyText(reply)} A forged delivery gets the same status, and a genuine one gets it before its second half is sent.`,
      );
    }
  }
  expectMore(2);
  const [json, text] = [
    await ask({ name: "unsigned JSON", ...(await unsigned(plain())) }),
    await ask({ name: "unsigned text that is not JSON", ...(await unsigned(notJson())) }),
  ];
  if (reply.code === undefined && json.status !== text.status) {
    const both = `${replyText(reply)} Unsigned JSON gets status ${json.status}, and other unsigned text gets ${text.status}.`;
    return finding("parser_before_receiver", both);
  }
  return unknownCause(reply);
}
