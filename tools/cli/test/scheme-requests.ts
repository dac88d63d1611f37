import { senders, type SenderName } from "@svc-webhooks/schemes/senders";

export interface Signed {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The receiver's secret. */
  readonly secret: string;
  readonly signingSecret: string;
}

/** Returns an event in the form of a sender, signed with new keys. */
export async function signedBy(name: SenderName, at = Date.now()): Promise<Signed> {
  const { complete, sign, testKeys } = senders[name];
  const { secret, signingSecret } = await testKeys();
  const values = { deliveryId: "evt_1", type: "invoice.paid", at };
  const body = JSON.stringify(complete({ created: at }, values));
  return {
    body,
    headers: await sign(body, { secret: signingSecret, ...values }),
    secret,
    signingSecret,
  };
}

/** Returns `--header` options. */
export const headerFlags = (headers: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(headers).map(([name, value]) => `--header=${name}: ${value}`);
