import type { Scheme } from "@svc-webhooks/core";
import { senders as schemes, type SenderName } from "@svc-webhooks/explain/senders";
import { signers, type SchemeName, type Signer } from "@svc-webhooks/schemes/sign";
import { commonEvent, discordEvent, linearEvent, sendgridEvents, type Shape } from "./events.js";

/** A sender that the commands know. */
export interface Sender {
  readonly scheme: Scheme;
  readonly signer: SchemeName;
  readonly sign: Signer;
  /** Returns an event in the sender's form, for probes. */
  readonly shape: Shape;
  /** Whether `sign` needs the sender's private key in place of the receiver's key. */
  readonly hasPrivateKey: boolean;
}

type Rest = Partial<Pick<Sender, "shape" | "hasPrivateKey">>;

const senderWith = (name: SenderName, signer: SchemeName, rest: Rest = {}): Sender => ({
  scheme: schemes[name],
  signer,
  sign: signers[signer],
  shape: commonEvent,
  hasPrivateKey: false,
  ...rest,
});

const hasPrivateKey = true;

/** The senders by their name in the command line. */
const senders: Readonly<Record<SenderName, Sender>> = {
  "standard-webhooks": senderWith("standard-webhooks", "standardWebhooks"),
  "standard-webhooks-ed25519": senderWith("standard-webhooks-ed25519", "standardWebhooksEd25519", {
    hasPrivateKey,
  }),
  svix: senderWith("svix", "svix"),
  stripe: senderWith("stripe", "stripe"),
  github: senderWith("github", "github"),
  slack: senderWith("slack", "slack"),
  shopify: senderWith("shopify", "shopify"),
  paddle: senderWith("paddle", "paddle"),
  linear: senderWith("linear", "linear", { shape: linearEvent }),
  discord: senderWith("discord", "discord", { shape: discordEvent, hasPrivateKey }),
  sendgrid: senderWith("sendgrid", "sendgrid", { shape: sendgridEvents, hasPrivateKey }),
};

const senderNames = Object.keys(senders) as readonly SenderName[];

/** All senders with their names. */
export const allSenders = (): readonly (readonly [name: string, sender: Sender])[] =>
  Object.entries<Sender>(senders);

/** Returns the name of a sender in the command line. */
export const nameOf = (sender: Sender): string =>
  allSenders().find(([, one]) => one === sender)?.[0] ?? sender.scheme.name;

export const schemeOption = {
  scheme: {
    type: "string",
    value: "name",
    values: senderNames,
    text: "the sender, if it is not the service, such as stripe",
  },
} as const;

/** Returns the sender that `--scheme` names, or undefined for the service. The names are checked before. */
export const senderOf = ({
  scheme,
}: {
  readonly scheme: string | undefined;
}): Sender | undefined => (scheme === undefined ? undefined : senders[scheme as SenderName]);
