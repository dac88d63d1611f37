import { verify as verdictOf } from "@svc-webhooks/core";
import { z } from "zod";
import { bodyEncoding, bodyText, bytesOf, secretName, signature } from "./inputs.js";
import { sentencesOf } from "./texts.js";
import { tool } from "./tool.js";

export const verify = tool({
  name: "verify",
  title: "Verify a signature",
  description: "Verifies an X-SVC-Signature against the exact bytes of a body, as a receiver does.",
  input: z.strictObject({
    signature,
    body: bodyText,
    body_encoding: bodyEncoding,
    secret: secretName,
  }),
  facts: z.object({ genuine: z.boolean(), body_bytes: z.number() }),
  writes: "nothing",
  async run({ secrets }, { body, body_encoding, signature: value, secret }) {
    const bytes = bytesOf(body, body_encoding);
    const verdict = await verdictOf(bytes, value, secrets.get(secret));
    const facts = { genuine: verdict.ok, body_bytes: bytes.length };
    if (verdict.ok) {
      return {
        ok: true,
        code: "genuine",
        happened: "The signature is genuine.",
        facts,
        next_step:
          "If the receiver still refuses the delivery, call doctor with the receiver's URL.",
      };
    }
    return {
      ok: false,
      code: verdict.code,
      ...sentencesOf(verdict.code),
      facts,
      next_step: "Call explain_signature with the same arguments to find the mistake.",
    };
  },
});
