import { verify, type Secret } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { judgeRequest, type Judgment } from "@svc-webhooks/explain/senders";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { headerOf } from "../lib/delivery-headers.js";
import type { Arrived } from "./arrived.js";

/** The result of a verification. */
export interface Verified {
  /** `genuine`, or the outcome code of the problem. */
  readonly verdict: string;
  /** The id of the secret that verified the signature. Undefined unless the request is genuine. */
  readonly secretId?: string | undefined;
  /** The outcome in a receiver with the sender's scheme. Absent for the service, and if the body could not be read. */
  readonly judgment?: Judgment;
}

/** Verifies the deliveries of one sender. */
export type Verifier = (arrived: Arrived) => Promise<Verified>;

/**
 * Returns the verifier of a sender's deliveries. For the service, it verifies only the signature. For any other sender,
 * it passes the delivery to a receiver, which also checks the rest, such as the signed time.
 */
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
    const judgment = await judgeRequest({ ...arrived, scheme: sender.scheme, secret: secrets });
    const { isGenuine, outcome } = judgment;
    return isGenuine
      ? { verdict: "genuine", secretId: outcome.secretId, judgment }
      : { verdict: outcome.code, judgment };
  };
