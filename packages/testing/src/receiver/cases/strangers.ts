import { createHash, createHmac } from "node:crypto";
import type { SignedDelivery } from "../../delivery.js";
import { signingOf } from "../../signing.js";
import { tamper } from "../../tamper.js";
import { expectAccepted, type ReceiverProbe } from "../probe.js";
import {
  exampleSecrets,
  missingSecrets,
  placeholders,
  sampleSecrets,
} from "../published-secrets.js";
import type { ReceiverCase } from "./case.js";
import * as sources from "./sources.js";
import { changingDigits, refuses, signatureOf, withSignature } from "./forgeries.js";

/**
 * Checks that a delivery is rejected with each signature that `forgeries` create from its body or its genuine
 * signature.
 */
const refusesAll =
  (forgeries: readonly ((body: Uint8Array, genuine: string) => string)[]) =>
  async (probe: ReceiverProbe): Promise<void> => {
    for (const forge of forgeries) {
      await refuses((delivery) =>
        withSignature(delivery, forge(delivery.body, signatureOf(delivery))),
      )(probe);
    }
  };

/** Returns a delivery signed by a stranger. */
export const forged = (delivery: SignedDelivery): Promise<SignedDelivery> =>
  tamper.wrongSecret(delivery, signingOf(delivery).scheme ? undefined : "whsec_stranger");

/** Returns a function that signs a body with a key that is not the secret. */
const keyed = (key: string) => (body: Uint8Array) =>
  `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

/** Signs with each of these keys that is not the secret. Schemes refuse an empty key. */
const signedWith =
  (keys: readonly string[]) =>
  async (probe: ReceiverProbe): Promise<void> => {
    const texts = keys.filter((key) => key !== probe.secret && !(probe.scheme && key === ""));
    if (!probe.scheme) return refusesAll(texts.map(keyed))(probe);
    for (const text of texts)
      await refuses((delivery) => tamper.wrongSecret(delivery, text))(probe);
  };

/** Returns a place in the digits by its share of their number. */
const digitAt = (share: number) => (digits: string) => Math.floor(digits.length * share);

/** Replaces one digit of a text. */
function withWrongDigit(digits: string, at: number): string {
  const digit = digits[at] === "0" ? "1" : "0";
  return digits.slice(0, at) + digit + digits.slice(at + 1);
}

const lastDigit = (digits: string) => digits.search(/[^=]=*$/);

/** Cases with signatures and requests that a stranger can create from a genuine delivery, or without one. */
export const strangers: readonly ReceiverCase[] = [
  {
    title: "handles a genuine delivery even if a forgery with the same ids arrived first",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    showsOnlyInRuns: true,
    fix: "A stranger who guesses an id could suppress its event. Record an id only after you have verified the signature.",
    async run(probe) {
      const delivery = await probe.delivery();
      await probe.refuses(await forged(delivery), "A forgery");
      await probe.handles(delivery);
    },
  },
  {
    title: "refuses a forged copy of an event that is done, with 4xx",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    fix: "A 2xx shows strangers which events were handled. Verify the signature before you look for a record.",
    async run(probe) {
      const delivery = await probe.delivery();
      expectAccepted(await probe.send(delivery));
      await probe.isRefused(await forged(delivery), "A forged copy");
      await probe.ranOnce(delivery.eventId);
    },
  },
  {
    title: "refuses a signature whose key is empty, undefined or null",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "If your receiver has no secret, anyone can create a valid signature. Do not start the receiver if the secret is not set.",
    isSkippedFor: ({ key }) => key !== "text",
    run: signedWith(["", ...missingSecrets]),
  },
  {
    title: "refuses a signature whose key is the secret of an example",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "If your receiver falls back to a secret that anyone can read, anyone can create a valid signature. Do not start the receiver if the secret is not set.",
    isSkippedFor: ({ key }) => key !== "text",
    run: signedWith(exampleSecrets),
  },
  {
    title: "refuses a signature whose key is a placeholder",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "If a deployment never replaced the placeholder, anyone can create a valid signature. Do not start the receiver with one.",
    isSkippedFor: ({ key }) => key !== "text",
    run: signedWith(placeholders),
  },
  {
    title: "refuses a signature whose key is the sample of a library",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "Anyone can read the secrets of libraries, their documentation and their tests. Configure only the secret of your endpoint.",
    isSkippedFor: ({ key }) => key === "public",
    run: signedWith(sampleSecrets),
  },
  {
    title: "refuses an HMAC with a hash other than SHA-256",
    level: "must",
    source: sources.signing,
    isSkippedFor: () => true,
    fix: "The sender must not be able to choose the hash. Always compute HMAC-SHA256, whatever the prefix.",
    run: async (probe) =>
      refusesAll(
        ["md5", "sha1", "sha512"].map(
          (hash) => (body) =>
            `${hash}=${createHmac(hash, probe.secret).update(body).digest("hex")}`,
        ),
      )(probe),
  },
  {
    title: "refuses a hash of the body without a key",
    level: "must",
    source: sources.signing,
    isSkippedFor: () => true,
    fix: "Anyone can compute a hash without a key. Accept only an HMAC that was computed with the secret.",
    run: refusesAll([
      (body) => `sha256=${createHash("sha256").update(body).digest("hex")}`,
      (body) => createHash("sha256").update(body).digest("hex"),
    ]),
  },
  {
    title: "refuses the signature of an empty body with another body",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "If something has read the body before the receiver, it verifies no bytes at all. Verify the raw body, and nothing else.",
    async run(probe) {
      const { headers } = await probe.delivery(() => "");
      await refuses(() => ({ headers }))(probe);
    },
  },
  {
    title: "refuses a signature with one wrong digit",
    level: "must",
    source: sources.comparison,
    schemeSource: sources.validSignature,
    fix: "If you compare only some of the digits, a signature can be guessed. Compare all of them in constant time.",
    async run(probe) {
      for (const place of [...[0, 1 / 3, 2 / 3].map(digitAt), lastDigit]) {
        await refuses(changingDigits((digits) => withWrongDigit(digits, place(digits))))(probe);
      }
    },
  },
  {
    title: "refuses the right digits after a wrong prefix",
    level: "must",
    source: sources.prefix,
    schemeSource: sources.validSignature,
    fix: "A signature with a wrong prefix is invalid. Compare the whole value, including the prefix (sha256= for the service), instead of splitting it.",
    isSkippedFor: ({ form }) => !form.prefix,
    async run(probe) {
      const { prefix } = signingOf(await probe.delivery());
      await refusesAll([
        (_body, genuine) => genuine.replace(prefix, "foo="),
        (_body, genuine) => `foo=${genuine}`,
        (_body, genuine) => genuine.replace(prefix, prefix.toUpperCase()),
      ])(probe);
    },
  },
  {
    title: "refuses the right digits if text follows them",
    level: "must",
    // Other senders do not state how exactly a header is to be read.
    schemeLevel: "should",
    source: sources.comparison,
    schemeSource: sources.validSignature,
    fix: "Buffer.from ignores anything after the digits. Require the exact length, such as 64 hex digits.",
    run: refusesAll([(_body, genuine) => `${genuine}zz`, (_body, genuine) => `${genuine}=`]),
  },
  {
    title: "refuses forged PUT, PATCH and DELETE requests",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    fix: "If you verify only POST requests, other methods are unprotected. Respond to them with 405.",
    async run(probe) {
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        await refuses(async (delivery) => ({ ...(await forged(delivery)), method }))(probe);
      }
    },
  },
];
