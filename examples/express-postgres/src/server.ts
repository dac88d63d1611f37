import { webhooks } from "svc-webhooks/express";
import express from "express";
import { openDatabase } from "./database.js";
import { ordersIn } from "./orders.js";
import { listening, reached } from "./part.js";
import { createOrdersReceiver } from "./receiver.js";

const database = openDatabase();
const secret = process.env.SVC_WEBHOOK_SECRET ?? "";
const receiver = createOrdersReceiver(database.store, { secret }, reached);

const app = express();
app.post("/webhooks", webhooks(receiver));
app.get("/orders", async (_request, response) => void response.json(await ordersIn(database)));

const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => listening(server));

process.once("SIGTERM", async () => {
  const deadlineMs = 20_000;
  const closed = new Promise((resolve) => server.close(resolve));
  setTimeout(() => server.closeAllConnections(), deadlineMs);
  const left = await receiver.drain({ deadlineMs });
  if (left > 0) console.error(`${left} deliveries were interrupted; later attempts will run them.`);
  // Handlers finish before their responses are sent; the server closes after that.
  await closed;
  await database.close();
  process.exit();
});
