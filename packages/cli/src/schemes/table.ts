import type { Scheme } from "@svc-webhooks/core";
import {
  discord,
  github,
  linear,
  paddle,
  sendgrid,
  shopify,
  slack,
  standardWebhooks,
  stripe,
} from "@svc-webhooks/schemes";
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
  /** The first thing to check if a signature is wrong and no mistake is known, as a whole sentence. */
  readonly unknown?: string;
}

type Rest = Partial<Pick<Sender, "shape" | "hasPrivateKey" | "unknown">>;

const senderWith = (scheme: Scheme, signer: SchemeName, rest: Rest = {}): Sender => ({
  scheme,
  signer,
  sign: signers[signer],
  shape: commonEvent,
  hasPrivateKey: false,
  ...rest,
});

const hasPrivateKey = true;

/** The senders by their name in the command line. */
const senders = {
  "standard-webhooks": senderWith(standardWebhooks(), "standardWebhooks"),
  "standard-webhooks-ed25519": senderWith(
    standardWebhooks({ algorithm: "ed25519" }),
    "standardWebhooksEd25519",
    { hasPrivateKey },
  ),
  svix: senderWith(standardWebhooks({ headers: "svix" }), "svix"),
  stripe: senderWith(stripe(), "stripe", {
    unknown:
      "Each Stripe endpoint has its own secret, and stripe listen uses yet another one. Compare the last characters of the secrets.",
  }),
  github: senderWith(github(), "github"),
  slack: senderWith(slack(), "slack"),
  shopify: senderWith(shopify(), "shopify", {
    unknown:
      "Shopify signs with the client secret of the app that created the subscription, and with a different key for webhooks created in the admin settings. Check that the secret does not belong to another app.",
  }),
  paddle: senderWith(paddle(), "paddle"),
  linear: senderWith(linear(), "linear", { shape: linearEvent }),
  discord: senderWith(discord(), "discord", { shape: discordEvent, hasPrivateKey }),
  sendgrid: senderWith(sendgrid(), "sendgrid", { shape: sendgridEvents, hasPrivateKey }),
} as const satisfies Readonly<Record<string, Sender>>;

type SenderName = keyof typeof senders;

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
    text: "the sender, if it is not the service; docs/cli.md lists them",
  },
} as const;

/** Returns the sender that `--scheme` names, or undefined for the service. The names are checked before. */
export const senderOf = ({
  scheme,
}: {
  readonly scheme: string | undefined;
}): Sender | undefined => (scheme === undefined ? undefined : senders[scheme as SenderName]);
