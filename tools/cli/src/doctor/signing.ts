import { headerNames } from "@svc-webhooks/core/adapter";
import { explain, type Mistake } from "@svc-webhooks/explain";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { signedDelivery, tamper, type SignedDelivery } from "@svc-webhooks/testing";
import type { FindingId } from "./findings.js";
import { forgeriesFor } from "./forgeries.js";
import { bodyVariants, keyGuesses, type Guess } from "./guesses.js";
import { eventIdOf, newDeliveryId, type Delivered, type Probe } from "./probe.js";

/** Creates the genuine and forged deliveries of one sender, with one secret. */
export interface Signing {
  /** The name of the header with the signature, in lower case. */
  readonly header: string;
  /** Creates a genuine delivery of a body. */
  readonly deliver: (body: Uint8Array, delivered?: Delivered) => Promise<SignedDelivery>;
  /** Resolves to probes that must be rejected: changed deliveries of `body`, one of them with the body `another`. */
  readonly forgeriesOf: (body: Uint8Array, another: Uint8Array) => Promise<readonly ForgedProbe[]>;
  /** Resolves to the signatures that mistaken receivers compute for a body. */
  readonly guessesOf: (body: Uint8Array) => Promise<Guesses>;
  /** Resolves to the mistake behind a signature. Undefined if it is unknown, or if the sender is not the service. */
  readonly explain: (body: Uint8Array, signature: string) => Promise<Mistake | undefined>;
  /** Texts about the probes that do not exist for this sender, with the reason. Empty for the service. */
  readonly skipped: readonly string[];
}

/** A probe that must be rejected, with the id of the finding if it is accepted. */
export type ForgedProbe = readonly [id: FindingId, probe: Probe];

export interface Guesses {
  /** A genuine delivery of the body for which the guesses were computed. */
  readonly delivery: SignedDelivery;
  readonly keys: readonly Guess[];
  readonly bodies: readonly Guess[];
}

export interface SigningOptions {
  /** Default: the service. */
  readonly sender?: Sender;
  /** The key that signs: the receiver's secret, or the sender's private key. */
  readonly secret: string;
  readonly previousSecrets?: readonly string[];
  /** The event's type, for senders that send it in a header. Default: a type that the sender commonly sends. */
  readonly type?: string;
}

/** Returns the functions that sign and forge the deliveries of a sender. */
export function signingOf(options: SigningOptions): Signing {
  const { sender = service, secret, previousSecrets = [], type } = options;
  const { header } = sender.form;
  const isService = sender === service;

  const deliver: Signing["deliver"] = (body, delivered = {}) => {
    const { deliveryId = newDeliveryId(), attempt } = delivered;
    return sender.name === "service"
      ? signedDelivery(body, { secret, deliveryId, attempt, headers: serviceHeaders(body) })
      : signedDelivery(body, { scheme: sender.name, secret, deliveryId, type });
  };

  return {
    header,
    deliver,
    skipped: isService ? [] : [skippedBy(sender.scheme.name)],

    async forgeriesOf(body, another) {
      const delivery = await deliver(body);
      const forged = forgeriesFor(sender, another).map(async ([id, name, change]) => {
        const changed = await change(delivery, secret);
        return changed ? [[id, { name, ...delivery, ...changed }] as const] : [];
      });
      return (await Promise.all(forged)).flat();
    },

    async guessesOf(body) {
      const delivery = await deliver(body);
      const guess = async (kind: Guess["kind"], message: Uint8Array<ArrayBuffer>, key?: string) => {
        const { headers } = await tamper.wrongSecret({ ...delivery, body: message }, key ?? secret);
        return { kind, signature: headers[header] ?? "" };
      };
      const previous = sender.key === "public" ? [] : previousSecrets;
      const guessPrevious = async (key: string) => ({
        ...(await guess("key", delivery.body, key)),
        mistake: oldSecret,
      });
      const variants = bodyVariants(body)
        .map(([kind, variant]) => [kind, Buffer.from(variant)] as const)
        .filter(([, variant]) => !variant.equals(body));
      return {
        delivery,
        keys: isService
          ? keyGuesses(body, secret, previousSecrets)
          : await Promise.all(previous.map(guessPrevious)),
        bodies: await Promise.all(variants.map(([kind, variant]) => guess(kind, variant))),
      };
    },

    async explain(body, signature) {
      if (!isService) return undefined;
      const { mistake } = await explain({ body, signature, secrets: secret, previousSecrets });
      return mistake;
    },
  };
}

/** Returns the service's headers for the ids of the event and the subscription. */
const serviceHeaders = (body: Uint8Array) => ({
  [headerNames.eventId]: eventIdOf(body),
  [headerNames.subscriptionId]: "sub_doctor",
});

const oldSecret = {
  id: "old_secret",
  cause: "The receiver uses the previous secret.",
  fix: "Load the current secret. During a rotation, verify with both secrets.",
} as const;

const skippedBy = (name: string) =>
  `a later attempt without a signature, because deliveries of ${name} are not numbered`;
