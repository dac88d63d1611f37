import { headerNames, verify, type Secret } from "@svc-webhooks/core";
import { judgeRequest, type Judgement } from "@svc-webhooks/explain/senders";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { deliveryHeaders, headerOf, senderHeaders } from "../lib/delivery-headers.js";
import type { HeaderList } from "../lib/target.js";
import type { Arrived } from "./arrived.js";

/** The result of a verification. */
export interface Verified {
  /** `genuine`, or the code of the problem. */
  readonly verdict: string;
  /** The id of the secret that the signature was made with, if the request is genuine. */
  readonly secretId?: string | undefined;
  /** The outcome in a receiver of the sender that `--scheme` names. */
  readonly judgement?: Judgement;
}

/** Verifies the deliveries of one sender. */
export interface Verifier {
  readonly verify: (arrived: Arrived) => Promise<Verified>;
  /** Returns the headers that are forwarded. */
  readonly passed: (headers: HeaderList) => HeaderList;
}

/** Verifies the service's deliveries. */
export const serviceVerifier = (secrets: readonly Secret[]): Verifier => ({
  async verify({ headers, body }) {
    const result = await verify(body, headerOf(headers, headerNames.signature), secrets);
    return result.ok ? { verdict: "genuine", secretId: result.secretId } : { verdict: result.code };
  },
  passed: deliveryHeaders,
});

/** Verifies the deliveries of another sender, with a receiver. */
export const senderVerifier = ({ scheme }: Sender, secrets: readonly Secret[]): Verifier => ({
  async verify(arrived) {
    const judgement = await judgeRequest({ ...arrived, scheme, secret: secrets });
    const { isGenuine, outcome } = judgement;
    return isGenuine
      ? { verdict: "genuine", secretId: outcome.secretId, judgement }
      : { verdict: outcome.code, judgement };
  },
  passed: senderHeaders,
});
