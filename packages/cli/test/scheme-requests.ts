import { signers, testKeys, type SchemeName } from "@svc-webhooks/schemes/sign";

/** The senders by their name in the command line, and the names of their signers. */
export const senders: Readonly<Record<string, SchemeName>> = {
  "standard-webhooks": "standardWebhooks",
  "standard-webhooks-ed25519": "standardWebhooksEd25519",
  svix: "svix",
  stripe: "stripe",
  github: "github",
  slack: "slack",
  shopify: "shopify",
  paddle: "paddle",
  linear: "linear",
  discord: "discord",
  sendgrid: "sendgrid",
};

export interface Signed {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The receiver's secret. */
  readonly secret: string;
  readonly signingSecret: string;
}

/** Returns an event in the form of a sender, signed with new keys. */
export async function signedBy(name: string, at = Date.now()): Promise<Signed> {
  const signer = senders[name] ?? "stripe";
  const { secret, signingSecret } = await testKeys(signer);
  const fields = { id: "evt_1", event_id: "evt_1", notification_id: "evt_1", created: at };
  const event = { ...fields, event_type: "invoice.paid", webhookTimestamp: at };
  const body = JSON.stringify(
    name === "sendgrid"
      ? [event]
      : {
          ...event,
          type: name === "discord" ? 1 : "invoice.paid",
          event: { type: "invoice.paid" },
        },
  );
  const options = { secret: signingSecret, at, deliveryId: "evt_1", type: "invoice.paid" };
  return { body, headers: await signers[signer](body, options), secret, signingSecret };
}

/** Returns `--header` options. */
export const headerFlags = (headers: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(headers).map(([name, value]) => `--header=${name}: ${value}`);
