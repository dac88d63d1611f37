import { Copy } from "../parts/elements.js";

const code = `import { createReceiver } from "svc-webhooks";
import { webhooks } from "svc-webhooks/express";
import express from "express";

const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  on: { "*": (event) => console.log(event.type) },
});

express().post("/webhooks", webhooks(receiver)).listen(3000);
`;

const commandsWith = (secret: string) => `npm install svc-webhooks express
SVC_WEBHOOK_SECRET=${secret} node receiver.mjs
`;

interface ReceiverCodeProps {
  readonly id: string;
  /** The secret in the code. Default: a placeholder. */
  readonly secret?: string;
}

const Block = ({ name, of, copy }: { name: string; of: string; copy: string }) => (
  <>
    <pre class="body code-block" tabindex={0} role="region" aria-label={name}>
      {of}
    </pre>
    <Copy text={of} label={copy} />
  </>
);

/** The code of a receiver in a single file, for users who do not have a receiver yet. */
export const ReceiverCode = ({ id, secret = "whsec_…" }: ReceiverCodeProps) => (
  <details id={id}>
    <summary>No receiver yet? Start with this one</summary>
    <Block name="receiver.mjs" of={code} copy="Copy receiver.mjs" />
    <p class="sub">Save it as receiver.mjs, then:</p>
    <Block name="Commands" of={commandsWith(secret)} copy="Copy the commands" />
  </details>
);
