import type { Scheme } from "@svc-webhooks/core";
import { hexDigest } from "./digests.js";
import type { HmacClaim } from "./hmac-key.js";
import { readList } from "./signature-list.js";
import { timeProblem } from "./time.js";

/** A header such as `t=<seconds>,v1=<hex>`. */
export interface PairForm {
  readonly header: string;
  readonly separator: string;
  /** The name of the time. */
  readonly time: string;
  /** The name of the signatures that are compared. Other names are skipped. */
  readonly version: string;
  /** The text between the time and the body in what is signed. */
  readonly between: string;
}

/** Returns an `inspect` for a header of pairs, with one time and 1 to 5 signatures of HMAC-SHA256. */
export const pairInspector =
  ({ header, between, ...form }: PairForm, toleranceMs: number): Scheme<HmacClaim>["inspect"] =>
  (lookup, receivedAt) => {
    const value = lookup(header);
    if (!value) return { problem: "signature_missing" };
    const list = readList(value, { ...form, part: /^([^\s=]+)=(\S+)$/, read: hexDigest });
    if (list?.times.length !== 1) return { problem: "signature_malformed" };
    const [seconds = ""] = list.times;
    const claim = { before: seconds + between, signatures: list.signatures };
    return timeProblem(header, seconds, receivedAt, toleranceMs) ?? { claim };
  };
