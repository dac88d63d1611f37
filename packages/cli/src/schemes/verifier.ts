import { headerNames, verify, type Secret } from "@svc-webhooks/core";
import { judgeRequest, type Judgement } from "@svc-webhooks/explain/senders";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { headerOf } from "../lib/delivery-headers.js";
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
export type Verifier = (arrived: Arrived) => Promise<Verified>;

/** Returns the verifier of a sender. Only the signature of the service's deliveries is verified. */
export const verifierOf =
  (sender: Sender, secrets: readonly Secret[]): Verifier =>
  async (arrived) => {
    if (sender === service) {
      const signature = headerOf(arrived.headers, headerNames.signature);
      const result = await verify(arrived.body, signature, secrets);
      return result.ok
        ? { verdict: "genuine", secretId: result.secretId }
        : { verdict: result.code };
    }
    const judgement = await judgeRequest({ ...arrived, scheme: sender.scheme, secret: secrets });
    const { isGenuine, outcome } = judgement;
    return isGenuine
      ? { verdict: "genuine", secretId: outcome.secretId, judgement }
      : { verdict: outcome.code, judgement };
  };
