import { service } from "@svc-webhooks/schemes/senders";
import { command } from "../command.js";
import { bodyOptions, readBody } from "../lib/read.js";
import { bodyFirst, secretOptions } from "../lib/secret.js";
import { requireSigningSecret } from "../schemes/signing-secret.js";
import { assertWithScheme, schemeOption, senderOf } from "../schemes/option.js";
import { timeOf } from "../schemes/time.js";

const options = {
  ...schemeOption,
  at: {
    type: "string",
    value: "time",
    text: "with --scheme: the time of signing, in ISO 8601 or epoch seconds (default: now)",
  },
  id: {
    type: "string",
    value: "id",
    text: "with --scheme: the delivery id, if the sender puts it in a header (default: random)",
  },
  type: {
    type: "string",
    value: "type",
    text: "with --scheme: the event type, if the sender puts it in a header",
  },
  ...secretOptions,
  ...bodyOptions,
} as const;

export const sign = command({
  usage: "[--scheme <name>] --secret-env <name> < body",
  details: [
    "Prints the value of the X-SVC-Signature header for the exact bytes of the body: sha256= followed by 64 hex digits. With --scheme, prints the headers that the sender would send with the body, one name: value per line, for curl -H @file.",
    "With --json, prints { signature }, or { headers } with --scheme.",
  ],
  examples: [
    "svc-webhooks sign --secret-env SVC_WEBHOOK_SECRET < body.json",
    'printf %s \'{"type":"email.sent"}\' | svc-webhooks sign --secret-file secret.txt',
    "svc-webhooks sign --scheme stripe --secret-env STRIPE_WEBHOOK_SECRET < body.json",
  ],
  options,
  async run(context) {
    const { at, id, type } = context.options;
    bodyFirst(context.options);
    const sender = senderOf(context.options);
    if (sender === service) assertWithScheme({ at, id, type });
    const time = at === undefined ? undefined : timeOf("--at", at);
    const secret = await requireSigningSecret(context, sender);
    const body = await readBody(context);
    const headers = await sender.sign(body, { secret, at: time, deliveryId: id, type });
    if (sender === service) {
      const signature = headers[service.form.header] ?? "";
      context.show({ signature }, [signature]);
    } else {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      context.show({ headers }, lines);
    }
    if (body.length === 0) context.note("The body is empty, so this is the signature of 0 bytes.");
    return 0;
  },
});
