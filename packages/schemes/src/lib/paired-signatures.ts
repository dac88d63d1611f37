import type { Scheme } from "@svc-webhooks/core";
import { hexDigest } from "./digests.js";
import type { HmacClaim } from "./hmac-key.js";
import { inspectList } from "./signature-list.js";
import { timeProblem } from "./time.js";

/** The form of a header such as `t=<seconds>,v1=<hex>`. */
export interface PairForm {
  readonly header: string;
  readonly separator: string;
  /** The text before the time. */
  readonly time: string;
  /** The text before each signature that is compared. Other parts, except the time, are skipped. */
  readonly version: string;
  /** The text between the time and the body in the signed message. */
  readonly between: string;
}

/** Returns an `inspect` for a header of `name=value` pairs: one time, and 1 to 5 HMAC-SHA256 signatures. */
export const pairInspector =
  ({ header, between, ...form }: PairForm, toleranceMs: number): Scheme<HmacClaim>["inspect"] =>
  (lookup, receivedAt) =>
    inspectList(
      lookup(header),
      { ...form, part: /^[^\s=]+=\S+$/, read: hexDigest },
      (signatures, times) => {
        // If the header has more than one time, joins the times with commas: the text is then not digits, and is
        // refused.
        const seconds = times.join();
        const claim = { before: seconds + between, signatures };
        return timeProblem(header, seconds, receivedAt, toleranceMs) ?? { claim };
      },
    );
