import { headerNames, sign as signatureOf } from "@svc-webhooks/core";
import type { Captured } from "../lib/capture.js";
import { serviceVerifier, senderVerifier } from "../schemes/verifier.js";
import { identityOf } from "../schemes/identity.js";
import type { Sender } from "../schemes/table.js";
import { bodyTextOf, redactedBody } from "./body.js";
import { redactedHeaders, signedHeaders } from "./headers.js";
import type { Redactor } from "./redactor.js";
import { testSecretOf } from "./test-secret.js";

/** Makes fixtures of captured requests. */
export interface Fixtures {
  /** The public secret that fixtures verify with. */
  readonly secret: string;
  /** Remembers the values of a genuine request. Forged ones could push out what is known, so they are ignored. */
  readonly learn: (captured: Captured) => void;
  /** Resolves to the redacted request, signed again, or to the reason why there is none, as a whole sentence. */
  readonly make: (captured: Captured) => Promise<Captured | string>;
}

export const notGenuine = "It was not accepted as genuine, and signing it again would change that.";

/** @param sender undefined for the service */
export function createFixtures(sender: Sender | undefined, redactor: Redactor): Fixtures {
  const { secret, signingSecret } = testSecretOf(sender);
  const keys = [{ id: "test", key: secret }];
  const [signatureHeader = headerNames.signature] = sender?.scheme.headers ?? [];
  const verifier = sender ? senderVerifier(sender, keys) : serviceVerifier(keys);

  const signatureFor = async (captured: Captured, at: number) => {
    if (!sender) {
      return { [headerNames.signature]: await signatureOf(captured.body, signingSecret) };
    }
    const { deliveryId, type } = await identityOf(sender.scheme, captured);
    return sender.sign(captured.body, { secret: signingSecret, at, deliveryId, type });
  };

  return {
    secret,
    learn({ path, headers, body, verdict }) {
      if (verdict !== "genuine") return;
      const found = bodyTextOf(headers, body);
      if (typeof found !== "string") redactor.learn(found.text);
      for (const [name, value] of headers) redactor.learnField(name, value);
      const query = path.indexOf("?");
      if (query >= 0) redactor.learn(path.slice(query + 1));
    },
    async make(captured) {
      const { at, method, path, verdict } = captured;
      if (verdict !== "genuine") return notGenuine;
      const time = Date.parse(at);
      if (Number.isNaN(time)) return "Its time is not a date.";
      const text = bodyTextOf(captured.headers, captured.body);
      if (typeof text === "string") return text;
      const body = redactedBody(text, redactor);
      const bare: Captured = {
        at,
        method,
        path: redactor.path(path),
        headers: redactedHeaders(captured.headers, signatureHeader, redactor),
        body,
        verdict,
      };
      const headers = signedHeaders(bare.headers, await signatureFor(bare, time), body.length);
      const result = await verifier.verify({ headers, body, at: time });
      return result.verdict === "genuine"
        ? { ...bare, headers }
        : `Its redacted form would be refused with ${result.verdict}.`;
    },
  };
}
