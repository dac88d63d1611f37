import { createHash, createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { headerNames } from "@svc-webhooks/core";
import { explain } from "@svc-webhooks/explain";
import { service, splitAtSignature, type Sender } from "@svc-webhooks/schemes/senders";
import { isStaleAt } from "../schemes/stale.js";
import type { Bodies } from "./bodies.js";
import {
  knownSecrets,
  signed,
  unsigned,
  unsignedKinds,
  type Forgery,
  type SignedFacts,
} from "./forgeries.js";
import { bodyVariants, keyGuesses, signedWith, type Guess, type Mistaken } from "./guesses.js";
import { eventIdOf, newDeliveryId, type HeadersOf, type Probe } from "./probe.js";

/** How the deliveries of one sender are signed and forged. */
export interface Signing {
  readonly headersOf: HeadersOf;
  /** Returns the genuine signature of a body. */
  readonly genuine: (body: Uint8Array) => Promise<string>;
  /** Signs a body with a random key, or spoils its signature. */
  readonly forgery: (body: Uint8Array) => Promise<Pick<Probe, "body" | "signature"> & SignedFacts>;
  readonly forgeriesOf: (body: Uint8Array, bodies: Bodies) => Promise<readonly Forgery[]>;
  /** Returns a compressed body with the genuine signature of its text, which must be rejected. */
  readonly compressed: (body: Uint8Array) => Promise<Probe>;
  /** Returns the signatures that mistaken receivers compute for a body. */
  readonly guessesOf: (
    body: Uint8Array,
  ) => Promise<{ readonly keys: readonly Guess[]; readonly bodies: readonly Guess[] }>;
  /** Names the mistake that makes this signature. */
  readonly explain: (body: Uint8Array, signature: string) => Promise<Mistaken | undefined>;
  /** The probes that this sender does not have, and why. */
  readonly skipped: readonly string[];
}

/** How old a replayed delivery is, in milliseconds: more than any scheme tolerates. */
const staleMs = 2 * 3_600_000;

export interface SigningOptions {
  /** Default: the service. */
  readonly sender?: Sender;
  /** The key that signs. */
  readonly secret: string;
  readonly previousSecrets?: readonly string[];
  /** The event's type, for senders that have it in a header. */
  readonly type?: string;
}

/** The options with the default sender. */
type SignedBy = Omit<SigningOptions, "sender"> & { readonly sender: Sender };

/** Signs and forges deliveries with the signer of a sender. */
export function signingOf(options: SigningOptions): Signing {
  const { sender = service, secret, previousSecrets, type } = options;
  const { form, scheme, sign } = sender;
  const isService = sender === service;
  const signedBy: SignedBy = { ...options, sender };

  return {
    skipped: isService ? [] : skippedBy(scheme.name),
    genuine: (body) => signatureBy(signedBy, body, newFacts(sender)),

    async headersOf(probe) {
      const { body, deliveryId, at } = probe;
      const headers = await sign(body, { secret, type, deliveryId, at });
      const { [form.header]: genuine, ...others } = headers;
      const signature = "signature" in probe ? probe.signature : genuine;
      return {
        ...(signature !== undefined && { [form.header]: signature }),
        ...others,
        ...(isService && serviceHeaders(probe)),
      };
    },

    async forgery(body) {
      const facts = newFacts(sender);
      return {
        body,
        signature: await signatureBy(signedBy, body, facts, await randomKey(sender)),
        ...facts,
      };
    },

    forgeriesOf: (body, bodies) => forgeriesOf(signedBy, body, bodies),

    async compressed(body) {
      const facts = newFacts(sender);
      return {
        name: "a compressed body with the signature of its text",
        signature: await signatureBy(signedBy, body, facts),
        ...facts,
        body: gzipSync(body),
        headers: { "content-encoding": "gzip" },
      };
    },

    guessesOf: (body) => guessesOf(signedBy, body),

    async explain(body, signature) {
      if (!isService) return undefined;
      const { mistake } = await explain({ body, signature, secrets: secret, previousSecrets });
      return mistake;
    },
  };
}

/** Returns the time and the id that a sender may sign. The service signs neither. */
const newFacts = (sender: Sender): SignedFacts =>
  sender === service ? {} : { at: Date.now(), deliveryId: newDeliveryId() };

/** Resolves to the value of the signature's header, made with a key. */
const signatureBy = async (
  { sender, secret, type }: SignedBy,
  body: Uint8Array | string,
  facts: SignedFacts,
  key: string = secret,
): Promise<string> =>
  (await sender.sign(body, { secret: key, type, ...facts }))[sender.form.header] ?? "";

const randomKey = async (sender: Sender): Promise<string> =>
  (await sender.testKeys()).signingSecret;

async function forgeriesOf(
  options: SignedBy,
  body: Uint8Array,
  bodies: Bodies,
): Promise<readonly Forgery[]> {
  const { sender, secret, type } = options;
  const isService = sender === service;
  const facts = newFacts(sender);
  const genuine = await signatureBy(options, body, facts);
  const forged = (id: Forgery[0], name: string, signature: string) =>
    signed(id, name, signature, facts);
  const another = await signatureBy(options, body, facts, await randomKey(sender));
  const other = await signatureBy(options, bodies.plain(), facts);
  const empty = await signatureBy(options, "", facts).catch(() => genuine);
  const all: readonly Forgery[] = [
    ["unsigned_accepted", "a delivery without a signature", unsigned],
    ...(isService ? laterAttempts : []),
    ...unsignedKinds(body, isService ? required : []),
    forged("wrong_secret_accepted", "a signature made with another secret", another),
    forged("altered_body_accepted", "the signature of another body", other),
    forged("altered_body_accepted", "the signature of an empty body", empty),
    forged("plain_hash_accepted", "the SHA-256 of the body", withHash(genuine, body)),
    ...(isService ? otherPrefixes(body, secret, genuine) : []),
    ...(await missingSecrets(secret, facts, async (key) =>
      isService ? signedWith(key, body) : signatureBy(options, body, facts, key),
    )),
    ...shortened(genuine, sender).map(([name, signature]) =>
      forged("short_signature_accepted", name, signature),
    ),
    forged("wrong_secret_accepted", "an empty signature", ""),
    ...(await staleOf(sender, body, (at) => sender.sign(body, { secret, type, at }))),
  ];
  return all.filter(([, , { signature }]) => signature !== genuine);
}

async function guessesOf(options: SignedBy, body: Uint8Array) {
  const { sender, secret, previousSecrets = [] } = options;
  const facts = newFacts(sender);
  const previous = sender.key === "public" ? [] : previousSecrets;
  const variants = bodyVariants(body).filter(([, variant]) => !Buffer.from(variant).equals(body));
  return {
    keys:
      sender === service
        ? keyGuesses(body, secret, previousSecrets)
        : await Promise.all(
            previous.map(async (key) => ({
              kind: "key" as const,
              signature: await signatureBy(options, body, facts, key),
              ...facts,
              mistake: oldSecret,
            })),
          ),
    bodies: await Promise.all(
      variants.map(async ([kind, variant]) => ({
        kind,
        signature: await signatureBy(options, variant, facts),
        ...facts,
      })),
    ),
  };
}

/** The headers of the service that a receiver could require before it verifies a delivery. */
const required = [headerNames.deliveryId, headerNames.eventId, headerNames.attempt];

/** Returns the headers of the service that depend on the attempt and the event. */
const serviceHeaders = ({ body, attempt = 1 }: Probe) => ({
  [headerNames.attempt]: String(attempt),
  [headerNames.eventId]: eventIdOf(body),
  [headerNames.subscriptionId]: "sub_doctor",
});

const laterAttempts = [2, 9].map((attempt): Forgery => [
  "some_unsigned_accepted",
  `attempt ${attempt} without a signature`,
  { ...unsigned, attempt },
]);

/** Replaces the hex digits of a signature by those of the body's SHA-256. */
const withHash = (signature: string, body: Uint8Array) =>
  signature.replace(/[\da-f]{64}/, createHash("sha256").update(body).digest("hex"));

/** Returns signatures of the service with another hash, or whose prefix is missing or another one. */
const otherPrefixes = (body: Uint8Array, secret: string, genuine: string): readonly Forgery[] => [
  signed(
    "weak_hash_accepted",
    "an HMAC with SHA-1",
    `sha1=${createHmac("sha1", secret).update(body).digest("hex")}`,
  ),
  signed("prefix_not_checked", "a signature without sha256=", genuine.replace("sha256=", "")),
  signed("prefix_not_checked", "a signature after foo=", genuine.replace("sha256=", "foo=")),
  signed("prefix_not_checked", "a signature after SHA256=", genuine.replace("sha", "SHA")),
];

/**
 * Returns signatures with keys that are missing, unless the sender's form of a key excludes them.
 *
 * @param signWith signs the body with a key
 */
async function missingSecrets(
  secret: string,
  facts: SignedFacts,
  signWith: (key: string) => Promise<string>,
): Promise<readonly Forgery[]> {
  const forgeries = ["", ...knownSecrets(secret)].map(async (key) => {
    const name =
      key === ""
        ? "a signature made with the empty secret"
        : `a signature made with the secret ${key}`;
    try {
      return [signed("missing_secret_accepted", name, await signWith(key), facts)];
    } catch {
      return [];
    }
  });
  return (await Promise.all(forgeries)).flat();
}

/** Returns a signature of which some digits are missing or wrong, with a description of each. */
function shortened(
  signature: string,
  { form: { prefix } }: Sender,
): readonly (readonly [name: string, signature: string])[] {
  const [before, digits] = splitAtSignature(signature, prefix);
  // Without a prefix, nothing is left: the empty signature is another forgery.
  const withoutDigits = [[`${prefix} without digits`, before]] as const;
  return [
    ["the first 16 digits of a signature", before + digits.slice(0, 16)],
    ...(before === "" ? [] : withoutDigits),
    ["a signature whose first digit is wrong", before + digits.replace(/^./, otherDigit)],
    ["a signature whose last digit is wrong", before + digits.replace(/[\w+/](?==*$)/, otherDigit)],
  ];
}

const otherDigit = (digit: string): string => {
  if (digit === "A") return "B";
  return digit === "0" ? "1" : "0";
};

/**
 * Returns an old delivery, if the sender signs the time.
 *
 * @param headersAt signs the body at a time
 */
async function staleOf(
  { scheme }: Sender,
  body: Uint8Array,
  headersAt: (at: number) => ReturnType<Sender["sign"]>,
): Promise<readonly Forgery[]> {
  const at = Date.now() - staleMs;
  return (await isStaleAt(scheme, await headersAt(at), body, Date.now()))
    ? [["stale_accepted", "a delivery that was signed two hours ago", { at }]]
    : [];
}

const oldSecret = {
  id: "old_secret",
  text: "The receiver uses the previous secret.",
  remedy: "Load the current secret. During a rotation, verify with both secrets.",
} as const;

const skippedBy = (name: string): readonly string[] => [
  `a later attempt without a signature, because deliveries of ${name} are not numbered`,
  `a signature with another prefix, because each sender has its own format`,
];
