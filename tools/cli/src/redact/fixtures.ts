import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Captured } from "../lib/capture.js";
import { verifierOf } from "../schemes/verifier.js";
import { identityOf } from "../schemes/identity.js";
import { signatureOf } from "../schemes/signature.js";
import { bodyTextOf, redactedBody } from "./body.js";
import { redactedHeaders, signedHeaders } from "./headers.js";
import type { Redactor } from "./redactor.js";
import { testSecretOf } from "./test-secret.js";

/** Makes fixtures from captured requests. */
export interface Fixtures {
  /** The receiver's secret that verifies the fixtures. It is publicly known. */
  readonly secret: string;
  /** Resolves to the redacted request, signed again, or to the reason why there is none, as a whole sentence. */
  readonly make: (captured: Captured) => Promise<Captured | string>;
}

export const notGenuine = "It was not accepted as genuine, and signing it again would change that.";

export function createFixtures(sender: Sender, redactor: Redactor): Fixtures {
  const { secret, signingSecret } = testSecretOf(sender);
  const { scheme } = sender;
  const verify = verifierOf(sender, [{ id: "test", key: secret }]);

  return {
    secret,
    async make(captured) {
      const { verdict } = captured;
      if (verdict !== "genuine") return notGenuine;
      const time = Date.parse(captured.at);
      if (Number.isNaN(time)) return "Its time of arrival is not a date.";
      const text = bodyTextOf(captured.headers, captured.body);
      if (typeof text === "string") return text;
      const { headers: kept, ids } = redactedHeaders(captured.headers, scheme.headers, redactor);
      const body = redactedBody(text, ids, redactor);
      const at = new Date(time).toISOString();
      // The method is POST, the only one that senders use. The path is `/`, because no command reads the path of a fixture.
      const bare: Captured = { at, method: "POST", path: "/", headers: kept, body, verdict };
      const identity = await identityOf(scheme, bare);
      const signing = { secret: signingSecret, at: time, ...identity };
      const headers = signedHeaders(kept, await signatureOf(sender, body, signing), body.length);
      const result = await verify({ headers, body, at: time });
      return result.verdict === "genuine"
        ? { ...bare, headers }
        : `Its redacted form would be refused with ${result.verdict}.`;
    },
  };
}
