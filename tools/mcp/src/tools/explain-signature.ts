import { explain } from "@svc-webhooks/explain";
import { z } from "zod";
import { bodyEncoding, bodyText, bytesOf, secretName, signature } from "./inputs.js";
import { tool } from "./tool.js";

export const explainSignature = tool({
  name: "explain_signature",
  title: "Find the mistake that made a signature wrong",
  description:
    "Finds the mistake behind a wrong X-SVC-Signature, such as a body that was parsed and serialized again, or a secret with a newline.",
  input: z.strictObject({
    signature,
    body: bodyText,
    body_encoding: bodyEncoding,
    secret: secretName,
    previous_secrets: z
      .array(z.string().max(100))
      .max(10)
      .default([])
      .describe("names of variables with secrets that have been replaced"),
  }),
  facts: z.object({
    verdict: z.enum(["same", "known_mistake", "unknown"]),
    mistake: z.string().optional(),
    body_bytes: z.number(),
    signed_bytes: z.number().optional(),
    first_different_byte: z.number().optional(),
  }),
  writes: "nothing",
  async run({ secrets }, { body, body_encoding, signature: value, secret, previous_secrets }) {
    const bytes = bytesOf(body, body_encoding);
    // Leaves out `first_difference`: it contains a character of the correct signature, so repeated calls would reveal
    // the whole signature of any body.
    const { verdict, mistake, next_step, body_difference } = await explain({
      body: bytes,
      signature: value,
      secrets: secrets.get(secret),
      previousSecrets: previous_secrets.map(secrets.get),
    });
    const facts = {
      verdict,
      body_bytes: bytes.length,
      ...(mistake && { mistake: mistake.id }),
      ...(body_difference && {
        signed_bytes: body_difference.bytes,
        first_different_byte: body_difference.at,
      }),
    };
    if (verdict === "same") {
      return {
        ok: true,
        code: "genuine",
        happened: "The signature is correct for this body and secret.",
        facts,
        next_step:
          "If the receiver still refuses it, call doctor: something changes the body or the header before verification, or the receiver uses another secret.",
      };
    }
    if (!mistake) {
      return {
        ok: false,
        code: "unknown_mistake",
        happened: "No known mistake produces this signature.",
        facts,
        next_step:
          next_step ?? "Compare the bytes that the code signs with the bytes that arrived.",
      };
    }
    return {
      ok: false,
      code: mistake.id,
      happened: "A known mistake produces this signature.",
      cause: mistake.cause,
      fix: mistake.fix,
      facts,
      ...(body_difference && {
        untrusted: [
          ["the body from the first difference", body_difference.body],
          ["the signed bytes from there", body_difference.yours],
        ] as const,
      }),
      next_step:
        "Apply the fix, then call verify with a signature that the corrected code computed.",
    };
  },
});
