import { sign } from "@svc-webhooks/core";
import { senders } from "@svc-webhooks/schemes/senders";
import { emptyForm, type Form } from "./form.js";

/** An example that fills the form. */
export interface Example {
  /** The text of its button. */
  readonly name: string;
  /** Resolves to the values of the fields, signed as mistaken code would sign them. */
  readonly form: () => Promise<Form>;
}

// No service accepts these secrets.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const oldSecret = "whsec_C2FVsBQIhrscChlQIMVb5sSYspob7oDz";
const body = '{ "type": "email.delivered", "data": { "to": "ada@example.com" } }';
const parsed = JSON.stringify(JSON.parse(body));

const stripeBody = '{"id":"evt_1","object":"event","type":"invoice.paid"}';
const stripeTime = 1_795_000_000;

const ofService = async (
  signed: string,
  key: string,
  fields: Partial<Form> = {},
): Promise<Form> => ({
  ...emptyForm,
  body,
  secret,
  signature: await sign(signed, key),
  ...fields,
});

export const examples: readonly Example[] = [
  { name: "JSON parsed and serialized again", form: () => ofService(parsed, secret) },
  { name: "Secret without its prefix", form: () => ofService(body, secret.slice(6)) },
  {
    name: "Old secret",
    form: () => ofService(body, oldSecret, { previous: oldSecret }),
  },
  { name: "Newline added", form: () => ofService(`${body}\n`, secret) },
  { name: "Genuine signature", form: () => ofService(body, secret) },
  {
    name: "Stripe: a delivery verified too late",
    async form() {
      const headers = await senders.stripe.sign(stripeBody, { secret, at: stripeTime * 1_000 });
      return {
        ...emptyForm,
        sender: "stripe",
        body: stripeBody,
        secret,
        headers: Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}`)
          .join("\n"),
        at: String(stripeTime + 3_600),
      };
    },
  },
];
