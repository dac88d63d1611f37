import * as http from "node:http";
import * as https from "node:https";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { receiverContract } from "@svc-webhooks/testing/receiver";

const { describe, it } = await import(process.versions.bun ? "bun:test" : "node:test");

async function serve(handler) {
  const receiver = createReceiver({
    secret: "whsec_test",
    dedupeBy: "event",
    eventId: ({ event_id }) => event_id,
    on: { "email.sent": handler },
    log: () => {},
    onHandlerError: () => {},
  });
  const { TLS_KEY: key, TLS_CERTIFICATE: cert } = process.env;
  const listener = webhooks(receiver);
  const server = key ? https.createServer({ key, cert }, listener) : http.createServer(listener);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // The server of the second contract stays open.
  server.unref();
  const url = `${key ? "https" : "http"}://127.0.0.1:${server.address().port}`;
  return { url, close: () => server.close() };
}

receiverContract({ describe, it }, "mounted", serve);

const { url } = await serve(async () => {});
receiverContract({ describe, it }, "by URL", url);
