import { describeMs } from "@svc-webhooks/explain/senders";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { isStaleAt } from "../schemes/stale.js";
import { finding, type Finding } from "./findings.js";

/**
 * Resolves to a finding if the receiver's clock is so wrong that the scheme, with its default tolerance, would refuse a
 * delivery that is signed now. Otherwise, resolves to undefined.
 *
 * @param skews how far the receiver's clock was ahead of this machine's in each response, in milliseconds; negative if
 *   it was behind
 */
export async function clockFinding(
  { scheme, sign }: Sender,
  secret: string,
  body: Uint8Array,
  skews: readonly number[],
): Promise<Finding | undefined> {
  // Each difference is inexact, because `Date` has whole seconds and a response takes time. Uses the smallest one, so
  // that these errors alone cannot cause a finding.
  const [skew] = skews.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (skew === undefined) return undefined;
  const now = Date.now();
  const headers = await sign(body, { secret, at: now });
  if (!(await isStaleAt(scheme, headers, body, now + skew))) return undefined;
  const side = skew > 0 ? "ahead of" : "behind";
  return finding(
    "clock_skew",
    `The Date header of the receiver's responses is ${describeMs(Math.abs(skew))} ${side} this machine's clock.`,
  );
}
