import { once } from "node:events";
import { serve } from "@hono/node-server";
import { webhooks } from "svc-webhooks/hono";
import { Hono } from "hono";
import { logger } from "hono/logger";
import { secureHeaders } from "hono/secure-headers";
import { createMailReceiver } from "./receiver.js";

const receiver = createMailReceiver((emailId) => console.log("delivered:", emailId), {
  secret: process.env.SVC_WEBHOOK_SECRET ?? "",
});

const app = new Hono();
// Middleware may run first if it does not read the body: the signature covers its exact bytes.
app.use(logger(), secureHeaders());
app.post("/webhooks", webhooks(receiver));

const port = Number(process.env.PORT ?? 3000);
const server = serve({ fetch: app.fetch, port }, (address) =>
  console.log(`Listening on http://localhost:${address.port}`),
);

async function stop() {
  const closed = once(server, "close");
  server.close();
  setTimeout(() => "closeAllConnections" in server && server.closeAllConnections(), 20_000);
  const left = await receiver.drain({ deadlineMs: 20_000 });
  // Handlers finish before their responses are sent; the server closes after that.
  if (left === 0) await closed;
  else console.error(`${left} deliveries were interrupted; later attempts will run them.`);
  process.exit();
}

process.once("SIGTERM", stop).once("SIGINT", stop);
