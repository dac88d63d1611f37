import { createHash } from "node:crypto";
import type { Scheme } from "@svc-webhooks/core";
import type { Sender } from "@svc-webhooks/schemes/senders";
import { isStaleAt } from "../schemes/stale.js";
import { newDeliveryId } from "./probe.js";
import { bodyVariants, type GuessKind } from "./guesses.js";
import {
  compressed,
  knownSecrets,
  otherDigit,
  signed,
  unsigned,
  unsignedKinds,
  type Forgery,
  type SignedFacts,
  type Signing,
} from "./signing.js";

/** How old a replayed delivery is, in milliseconds: more than any scheme tolerates. */
const staleMs = 2 * 3_600_000;

const newFacts = () => ({ at: Date.now(), deliveryId: newDeliveryId() });

/** Signs with the signer of a sender. */
export function senderSigning(
  { scheme, key: keyKind, sign, testKeys }: Sender,
  secret: string,
  previousSecrets: readonly string[],
  type: string,
): Signing {
  const [header = ""] = scheme.headers;
  const valueOf = async (body: Uint8Array | string, facts: SignedFacts, key = secret) =>
    (await sign(body, { secret: key, type, ...facts }))[header] ?? "";
  const randomKey = async () => (await testKeys()).signingSecret;

  return {
    skipped: skippedBy(scheme.name),
    genuine: (body) => valueOf(body, newFacts()),

    async headersOf(probe) {
      const { body, deliveryId, at } = probe;
      const { [header]: genuine, ...others } = await sign(body, { secret, type, deliveryId, at });
      const signature = "signature" in probe ? probe.signature : genuine;
      return { ...(signature !== undefined && { [header]: signature }), ...others };
    },

    async forgery(body) {
      const facts = newFacts();
      return { body, signature: await valueOf(body, facts, await randomKey()), ...facts };
    },

    async forgeriesOf(body, bodies) {
      const facts = newFacts();
      const genuine = await valueOf(body, facts);
      const one = (id: Forgery[0], name: string, signature: string) =>
        signed(id, name, signature, facts);
      const hash = createHash("sha256").update(body).digest("hex");
      const all: readonly Forgery[] = [
        ["unsigned_accepted", "a delivery without a signature", unsigned],
        ...unsignedKinds(body),
        one(
          "altered_body_accepted",
          "the signature of another body",
          await valueOf(bodies.plain(), facts),
        ),
        one(
          "altered_body_accepted",
          "the signature of an empty body",
          await valueOf("", facts).catch(() => genuine),
        ),
        one("short_signature_accepted", "a signature whose last digit is wrong", spoilt(genuine)),
        one(
          "short_signature_accepted",
          "a signature without its second half",
          genuine.slice(0, -32),
        ),
        one("wrong_secret_accepted", "an empty signature", ""),
        one(
          "wrong_secret_accepted",
          "a signature made with another secret",
          await valueOf(body, facts, await randomKey()),
        ),
        one("plain_hash_accepted", "the SHA-256 of the body", genuine.replace(/[\da-f]{64}/, hash)),
        ...(await missingSecrets(secret, facts, (key) => valueOf(body, facts, key))),
        ...(await staleOf(scheme, body, (at) => sign(body, { secret, type, at }))),
      ];
      return all.filter(([, , change]) => change.signature !== genuine);
    },

    async compressed(body) {
      const facts = newFacts();
      return compressed(body, { signature: await valueOf(body, facts), ...facts });
    },

    async guessesOf(body) {
      const facts = newFacts();
      const guess = async (kind: GuessKind, message: Uint8Array | string, key = secret) => ({
        kind,
        signature: await valueOf(message, facts, key),
        ...facts,
      });
      const others = bodyVariants(body).filter(([, one]) => !Buffer.from(one).equals(body));
      const previous = keyKind === "public" ? [] : previousSecrets;
      return {
        keys: await Promise.all(
          previous.map(async (key) => ({ ...(await guess("key", body, key)), mistake: oldSecret })),
        ),
        bodies: await Promise.all(others.map(([kind, one]) => guess(kind, one))),
      };
    },

    explain: async () => undefined,
  };
}

/**
 * Returns signatures with keys that are missing, unless the sender's form of a key excludes them.
 *
 * @param signatureBy signs the body with a key
 */
async function missingSecrets(
  secret: string,
  facts: SignedFacts,
  signatureBy: (key: string) => Promise<string>,
): Promise<readonly Forgery[]> {
  const forgeries = knownSecrets(secret).map(async (key) => {
    try {
      const name = `a signature made with the secret ${key}`;
      return [signed("missing_secret_accepted", name, await signatureBy(key), facts)];
    } catch {
      return [];
    }
  });
  return (await Promise.all(forgeries)).flat();
}

/**
 * Returns an old delivery, if the sender signs the time.
 *
 * @param headersAt signs the body at a time
 */
async function staleOf(
  scheme: Scheme,
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

/** Changes the last letter or digit of a signature. */
const spoilt = (signature: string) =>
  signature.replace(/[\w+/](?==*$)/, (digit) => (digit === "A" ? "B" : otherDigit(digit)));

const skippedBy = (name: string): readonly string[] => [
  `a later attempt without a signature, because deliveries of ${name} are not numbered`,
  `a signature with another prefix, because each sender has its own format`,
];
