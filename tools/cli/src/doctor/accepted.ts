import { replyText, type Examining } from "./examining.js";
import { finding } from "./findings.js";
import { afterForgeries, expectUnlocked } from "./forged.js";
import { identify } from "./identify.js";
import { isSuccess, newDeliveryId } from "./probe.js";

/** The number of probes that {@link examineAccepted} sends to a receiver without mistakes. */
export const acceptedProbes = 9;

/**
 * Examines a receiver that accepts a plain genuine delivery. Sends it bodies with unusual bytes, a copy of a delivery,
 * a body in two chunks, a large body and half a body.
 */
export async function examineAccepted(examining: Examining): Promise<void> {
  const { ask, bodies, expectMore, findings, send, signing } = examining;
  const { plain } = bodies;
  const variants = [
    ["genuine JSON with spaces, escapes and numbers", bodies.exact],
    ["genuine JSON on several lines", bodies.lines],
    ["genuine JSON with non-ASCII characters", bodies.nonAscii],
  ] as const;
  for (const [index, [name, make]] of variants.entries()) {
    const body = make();
    const reply = await ask({ name, body });
    if (isSuccess(reply)) continue;
    expectMore(index + 1 - variants.length);
    const unexplained = finding("body_altered", replyText(reply));
    const guesses = await signing.guessesOf(body);
    const guessed = await identify(guesses, guesses.bodies, reply, examining).catch(
      (error: unknown) => {
        // Reports the rejection even if the search for its cause ends early, for example after a lockout.
        findings.push(unexplained);
        throw error;
      },
    );
    findings.push(guessed ?? unexplained);
    expectUnlocked(await afterForgeries(examining));
    // The remaining variants would probably fail for the same reason.
    break;
  }

  const copy = { name: "a copy of a delivery", body: plain(), deliveryId: newDeliveryId() };
  const first = await ask({ ...copy, name: "a delivery before its copy" });
  const second = await ask({ ...copy, attempt: 2 });
  if (isSuccess(first) && !isSuccess(second)) {
    findings.push(finding("duplicate_refused", replyText(second)));
  }
  if (second.code === "processed") findings.push(finding("duplicate_ran", replyText(second)));

  const slow = await ask({ name: "a genuine body in two chunks", body: plain(), how: "pieces" });
  if (slow.early && isSuccess(slow)) findings.push(finding("early_success", replyText(slow)));
  else if (!isSuccess(slow)) findings.push(finding("pieces_refused", replyText(slow)));

  // Calls `send`, because `ask` would end the examination if there is no response. A server with a smaller body limit
  // may close the connection before it has read the whole body.
  const big = await send({ name: "a genuine body of 64 KiB", body: bodies.large() });
  if (big.error === "timeout") findings.push(finding("hangs", replyText(big)));
  else if (!isSuccess(big)) findings.push(finding("large_refused", replyText(big)));

  await send({ name: "half a body", body: plain(), how: "half" });
  const after = await send({ name: "a genuine delivery after half a body", body: plain() });
  if (!isSuccess(after)) findings.push(finding("stops_serving", replyText(after)));
}
