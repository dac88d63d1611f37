import { createHash, createHmac, randomBytes } from "node:crypto";
import { headerNames, sign } from "@svc-webhooks/core";
import { explain } from "@svc-webhooks/explain";
import { bodyGuesses, keyGuesses, signedWith } from "./guesses.js";
import { eventIdOf } from "./probe.js";
import {
  compressed,
  knownSecrets,
  otherDigit,
  signed,
  unsigned,
  unsignedKinds,
  type Forgery,
  type Signing,
} from "./signing.js";

/** Signs with the key of the service's deliveries. */
export const serviceSigning = (secret: string, previousSecrets: readonly string[]): Signing => ({
  skipped: [],
  genuine: (body) => sign(body, secret),

  async headersOf(probe) {
    const { body, deliveryId, attempt = 1 } = probe;
    const signature = "signature" in probe ? probe.signature : await sign(body, secret);
    return {
      ...(signature !== undefined && { [headerNames.signature]: signature }),
      [headerNames.deliveryId]: deliveryId,
      [headerNames.idempotencyKey]: deliveryId,
      [headerNames.attempt]: String(attempt),
      [headerNames.eventId]: eventIdOf(body),
      [headerNames.subscriptionId]: "sub_doctor",
    };
  },

  forgery: async (body) => ({
    body,
    signature: await sign(body, `whsec_${randomBytes(24).toString("base64")}`),
  }),

  async forgeriesOf(body, bodies) {
    const genuine = await sign(body, secret);
    const { signature: forged = "" } = await this.forgery(body);
    const hash = createHash("sha256").update(body).digest("hex");
    return [
      ["unsigned_accepted", "a delivery without a signature", unsigned],
      ...[2, 9].map((attempt): Forgery => [
        "some_unsigned_accepted",
        `attempt ${attempt} without a signature`,
        { ...unsigned, attempt },
      ]),
      ...unsignedKinds(body, [headerNames.deliveryId, headerNames.eventId, headerNames.attempt]),
      signed("wrong_secret_accepted", "a signature made with another secret", forged),
      signed(
        "altered_body_accepted",
        "the signature of another body",
        await sign(bodies.plain(), secret),
      ),
      signed("altered_body_accepted", "the signature of an empty body", await sign("", secret)),
      signed("plain_hash_accepted", "the SHA-256 of the body", `sha256=${hash}`),
      signed(
        "weak_hash_accepted",
        "an HMAC with SHA-1",
        `sha1=${createHmac("sha1", secret).update(body).digest("hex")}`,
      ),
      signed("prefix_not_checked", "a signature without sha256=", genuine.replace("sha256=", "")),
      signed("prefix_not_checked", "a signature after foo=", genuine.replace("sha256=", "foo=")),
      signed("prefix_not_checked", "a signature after SHA256=", genuine.replace("sha", "SHA")),
      ...["", ...knownSecrets(secret)].map((key) =>
        signed(
          "missing_secret_accepted",
          key === ""
            ? "a signature made with the empty secret"
            : `a signature made with the secret ${key}`,
          signedWith(key, body),
        ),
      ),
      signed(
        "short_signature_accepted",
        "the first 16 digits of a signature",
        genuine.slice(0, 23),
      ),
      signed("short_signature_accepted", "sha256= without digits", genuine.slice(0, 7)),
      signed(
        "short_signature_accepted",
        "a signature whose first digit is wrong",
        genuine.replace(/(?<==)./, otherDigit),
      ),
      signed(
        "short_signature_accepted",
        "a signature whose last digit is wrong",
        genuine.replace(/.$/, otherDigit),
      ),
      signed("wrong_secret_accepted", "an empty signature", ""),
    ];
  },

  compressed: async (body) => compressed(body, { signature: await sign(body, secret) }),

  guessesOf: async (body) => ({
    keys: keyGuesses(body, secret, previousSecrets),
    bodies: bodyGuesses(body, secret),
  }),

  async explain(body, signature) {
    const { mistake } = await explain({ body, signature, secrets: secret, previousSecrets });
    return mistake;
  },
});
