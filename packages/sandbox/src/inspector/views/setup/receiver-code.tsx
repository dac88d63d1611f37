import { Copy } from "../parts/elements.js";

const code = `import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/express";
import express from "express";

const receiver = createReceiver({
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
  on: { "*": (event) => console.log(event.type) },
});

express().post("/webhooks", webhooks(receiver)).listen(3000);
`;

const commandsWith = (
  secret: string,
) => `npm install @svc-webhooks/core @svc-webhooks/express express
SVC_WEBHOOK_SECRET=${secret} node receiver.mjs
`;

interface ReceiverCodeProps {
  readonly id: string;
  /** Default: a placeholder. */
  readonly secret?: string;
}

/** The code of a receiver in a single file, for users who have none yet. */
export const ReceiverCode = ({ id, secret = "whsec_…" }: ReceiverCodeProps) => {
  const commands = commandsWith(secret);
  return (
    <details id={id}>
      <summary>No receiver yet? One in a single file</summary>
      <pre class="body code-block" tabindex={0} role="region" aria-label="receiver.mjs">
        {code}
      </pre>
      <Copy text={code} label="Copy receiver.mjs" />
      <p class="sub">Save it as receiver.mjs, then:</p>
      <pre class="body code-block" tabindex={0} role="region" aria-label="Commands">
        {commands}
      </pre>
      <Copy text={commands} label="Copy the commands" />
    </details>
  );
};
