import { sign as signatureOf } from "@svc-webhooks/core";
import { command } from "../command.js";
import { bodyOptions, readBody } from "../lib/read.js";
import { bodyFirst, requireSecret, secretOptions } from "../lib/secret.js";

const options = { ...secretOptions, ...bodyOptions } as const;

export const sign = command({
  usage: "--secret-env <name> < body",
  details: [
    "Writes the value of the X-SVC-Signature header for the exact bytes of stdin: sha256= and 64 hex digits.",
    "With --json: { signature }.",
  ],
  examples: [
    "svc-webhooks sign --secret-env SVC_WEBHOOK_SECRET < body.json",
    'printf %s \'{"type":"email.sent"}\' | svc-webhooks sign --secret-file secret.txt',
  ],
  options,
  async run(context) {
    bodyFirst(context.options);
    const secret = await requireSecret(context);
    const body = await readBody(context);
    const signature = await signatureOf(body, secret);
    if (body.length === 0) context.note("The body is empty: this is the signature of 0 bytes.");
    context.show({ signature }, [signature]);
    return 0;
  },
});
