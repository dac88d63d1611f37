import { describeMs } from "@svc-webhooks/explain/senders";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { isStaleAt } from "../schemes/stale.js";
import { finding, type Finding } from "./findings.js";

/**
 * Returns the finding for a receiver whose clock differs so much that the scheme refuses what is signed now.
 *
 * @param skews how far the clock was ahead in each response, in milliseconds
 */
export async function clockFinding(
  { scheme, sign }: Sender,
  secret: string,
  body: Uint8Array,
  skews: readonly number[],
): Promise<Finding | undefined> {
  // `Date` has whole seconds, and a response takes time. The smallest difference is the closest.
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
