import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/next";

const lines = [];

export const { POST } = webhooks(
  createReceiver({
    secret: "whsec_test",
    on: { "*": () => {} },
    maxBodyBytes: 20_000_000,
    log: (line) => lines.push(line),
  }),
);

/** Returns and clears the logged lines. */
export const GET = () => Response.json(lines.splice(0));

export const runtime = "edge";
