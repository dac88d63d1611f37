import { headerNames, sign as signatureOf } from "@svc-webhooks/core";
import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Captured } from "../lib/capture.js";
import { serviceVerifier, senderVerifier } from "../schemes/verifier.js";
import { identityOf } from "../schemes/identity.js";
import { bodyTextOf, redactedBody } from "./body.js";
import { redactedHeaders, signedHeaders } from "./headers.js";
import type { Redactor } from "./redactor.js";
import { testSecretOf } from "./test-secret.js";

/** Makes fixtures of captured requests. */
export interface Fixtures {
  /** The public secret that fixtures verify with. */
  readonly secret: string;
  /** Resolves to the redacted request, signed again, or to the reason why there is none, as a whole sentence. */
  readonly make: (captured: Captured) => Promise<Captured | string>;
}

export const notGenuine = "It was not accepted as genuine, and signing it again would change that.";

/** @param sender undefined for the service */
export function createFixtures(sender: Sender | undefined, redactor: Redactor): Fixtures {
  const { secret, signingSecret } = testSecretOf(sender);
  const keys = [{ id: "test", key: secret }];
  const signatureHeaders = sender?.scheme.headers ?? [headerNames.signature];
  const verifier = sender ? senderVerifier(sender, keys) : serviceVerifier(keys);

  const signatureFor = async (bare: Captured, at: number) => {
    if (!sender) return { [headerNames.signature]: await signatureOf(bare.body, signingSecret) };
    const { deliveryId, type } = await identityOf(sender.scheme, bare);
    return sender.sign(bare.body, { secret: signingSecret, at, deliveryId, type });
  };

  return {
    secret,
    async make(captured) {
      const { verdict } = captured;
      if (verdict !== "genuine") return notGenuine;
      const time = Date.parse(captured.at);
      if (Number.isNaN(time)) return "Its time is not a date.";
      const text = bodyTextOf(captured.headers, captured.body);
      if (typeof text === "string") return text;
      const { headers: kept, ids } = redactedHeaders(captured.headers, signatureHeaders, redactor);
      const body = redactedBody(text, ids, redactor);
      const at = new Date(time).toISOString();
      // The senders know no other method, and commands that read fixtures ignore the path.
      const bare: Captured = { at, method: "POST", path: "/", headers: kept, body, verdict };
      const headers = signedHeaders(kept, await signatureFor(bare, time), body.length);
      const result = await verifier.verify({ headers, body, at: time });
      return result.verdict === "genuine"
        ? { ...bare, headers }
        : `Its redacted form would be refused with ${result.verdict}.`;
    },
  };
}
