import { createHash, createHmac } from "node:crypto";
import type { SecretKey } from "@svc-webhooks/core";
import type { SignedDelivery } from "../../delivery.js";
import { signingOf } from "../../signing.js";
import { tamper } from "../../tamper.js";
import { expectAccepted } from "../probe.js";
import {
  exampleSecrets,
  missingSecrets,
  placeholders,
  sampleSecrets,
} from "../published-secrets.js";
import { withSignature, type Change, type Forgery } from "../forgery.js";
import type { ReceiverCase } from "./case.js";
import * as sources from "./sources.js";
import { refuses, withDigits } from "./forgeries.js";

/** Signs a delivery again with a secret that is not the receiver's. */
export const forged = (delivery: SignedDelivery): Promise<SignedDelivery> =>
  tamper.wrongSecret(delivery, signingOf(delivery).scheme ? undefined : "whsec_stranger");

const hmac = (hash: string, key: SecretKey, body: Uint8Array) =>
  `${hash}=${createHmac(hash, key).update(body).digest("hex")}`;

/**
 * Returns a change that signs with this key. The change returns undefined if the key is the receiver's secret. It also
 * returns undefined if the key is empty and the sender is not the service, because schemes refuse an empty key.
 */
const signedWith =
  (key: string): Change =>
  (delivery, secret) => {
    if (key === secret) return undefined;
    if (signingOf(delivery).scheme) return key ? tamper.wrongSecret(delivery, key) : undefined;
    return withSignature((_genuine, { body }) => hmac("sha256", key, body))(delivery, secret);
  };

/** Returns one forgery for each of these keys, which are public or easy to guess. */
const madeWith = (keys: readonly string[]): readonly Forgery[] =>
  keys.map((key) => [
    "missing_secret_accepted",
    `a signature made with the ${key === "" ? "empty secret" : `secret ${key}`}`,
    signedWith(key),
  ]);

const otherHash = (hash: string, name: string): Forgery => [
  "weak_hash_accepted",
  `an HMAC with ${name}`,
  withSignature((_genuine, { body }, secret) => hmac(hash, secret, body)),
];

const plainHash = (prefix: string, name: string): Forgery => [
  "plain_hash_accepted",
  name,
  withSignature((_genuine, { body }) => prefix + createHash("sha256").update(body).digest("hex")),
];

/** Returns a forgery that changes the prefix of the signature, or the text before it. */
const afterPrefix = (
  name: string,
  change: (genuine: string, prefix: string) => string,
): Forgery => [
  "prefix_not_checked",
  name,
  withSignature((genuine, delivery) => change(genuine, signingOf(delivery).prefix)),
];

/**
 * Returns a forgery with one wrong digit.
 *
 * @param share the position of the digit: 0 is the first one, 1 the last
 */
const withWrongDigit = (name: string, share: number): Forgery =>
  withDigits(name, (digits) => {
    const { length } = digits.replace(/=+$/, "");
    const index = Math.min(Math.floor(length * share), length - 1);
    // The new digit is valid in hex and in base64. In base64, it differs from the old digit in the first two bits,
    // because the other bits of the last digit may belong to no byte.
    const digit = /[w-z0-9+/_-]/.test(digits[index] ?? "") ? "a" : "0";
    return digits.slice(0, index) + digit + digits.slice(index + 1);
  });

/** Cases with forgeries that a stranger can create, with or without a captured genuine delivery. */
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
    forgeries: madeWith(["", ...missingSecrets]),
  },
  {
    title: "refuses a signature whose key is the secret of an example",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "If your receiver falls back to a secret that anyone can read, anyone can create a valid signature. Do not start the receiver if the secret is not set.",
    isSkippedFor: ({ key }) => key !== "text",
    forgeries: madeWith(exampleSecrets),
  },
  {
    title: "refuses a signature whose key is a placeholder",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "If a deployment never replaced the placeholder, anyone can create a valid signature. Do not start the receiver with one.",
    isSkippedFor: ({ key }) => key !== "text",
    forgeries: madeWith(placeholders),
  },
  {
    title: "refuses a signature whose key is the sample of a library",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.validSignature,
    fix: "Anyone can read the secrets of libraries, their documentation and their tests. Configure only the secret of your endpoint.",
    isSkippedFor: ({ key }) => key === "public",
    forgeries: madeWith(sampleSecrets),
  },
  {
    title: "refuses an HMAC with a hash other than SHA-256",
    level: "must",
    source: sources.signing,
    isSkippedFor: () => true,
    fix: "The sender must not be able to choose the hash. Always compute HMAC-SHA256, whatever the prefix.",
    forgeries: [
      otherHash("md5", "MD5"),
      otherHash("sha1", "SHA-1"),
      otherHash("sha512", "SHA-512"),
    ],
  },
  {
    title: "refuses a hash of the body without a key",
    level: "must",
    source: sources.signing,
    isSkippedFor: () => true,
    fix: "Anyone can compute a hash without a key. Accept only an HMAC that was computed with the secret.",
    forgeries: [
      plainHash("sha256=", "the SHA-256 of the body"),
      plainHash("", "the SHA-256 of the body without a prefix"),
    ],
  },
  {
    title: "refuses the signature of an empty body with another body",
    level: "must",
    source: sources.exactBytes,
    schemeSource: sources.smallestChange,
    fix: "If other code has read the body first, the receiver verifies no bytes at all. Verify the raw body, and nothing else.",
    forgeries: [
      [
        "altered_body_accepted",
        "the signature of an empty body",
        async (delivery, secret) => {
          const { headers } = await signingOf(delivery).sign(new Uint8Array(), { secret });
          return { headers: { ...delivery.headers, ...headers } };
        },
      ],
    ],
  },
  {
    title: "refuses a signature with one wrong digit",
    level: "must",
    source: sources.comparison,
    schemeSource: sources.validSignature,
    fix: "If you compare only some of the digits, a signature can be guessed. Compare all of them in constant time.",
    forgeries: [
      withWrongDigit("a signature whose first digit is wrong", 0),
      withWrongDigit("a signature with a wrong digit in its first half", 1 / 3),
      withWrongDigit("a signature with a wrong digit in its second half", 2 / 3),
      withWrongDigit("a signature whose last digit is wrong", 1),
    ],
  },
  {
    title: "refuses the right digits after a wrong prefix",
    level: "must",
    source: sources.prefix,
    schemeSource: sources.validSignature,
    fix: "A signature with a wrong prefix is invalid. Compare the whole value, including the prefix (sha256= for the service), instead of splitting it.",
    isSkippedFor: ({ form }) => !form.prefix,
    forgeries: [
      afterPrefix("a signature after foo=", (genuine, prefix) => genuine.replace(prefix, "foo=")),
      afterPrefix("a signature after foo= and its prefix", (genuine) => `foo=${genuine}`),
      afterPrefix("a signature after its prefix in upper case", (genuine, prefix) =>
        genuine.replace(prefix, prefix.toUpperCase()),
      ),
    ],
  },
  {
    title: "refuses the right digits if text follows them",
    level: "must",
    // Other senders do not document how strictly a receiver must parse the header.
    schemeLevel: "should",
    source: sources.comparison,
    schemeSource: sources.validSignature,
    fix: "Buffer.from ignores anything after the digits. Require the exact length, such as 64 hex digits.",
    run: refuses(
      withSignature((genuine) => `${genuine}zz`),
      withSignature((genuine) => `${genuine}=`),
    ),
  },
  {
    title: "refuses forged PUT, PATCH and DELETE requests",
    level: "must",
    source: sources.authentication,
    schemeSource: sources.unknownSource,
    fix: "If you verify only POST requests, other methods are unprotected. Respond to them with 405.",
    run: refuses(
      ...["PUT", "PATCH", "DELETE"].map((method): Change => async (delivery) => ({
        ...(await forged(delivery)),
        method,
      })),
    ),
  },
];
