// A webhook endpoint for PayPal: it has PayPal's API verify the request, and handles the event.
import express from "express";
import { answer, createGuard } from "svc-webhooks";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";
import { paypalEvent } from "./verify.mjs";

const guard = createGuard({ name: "paypal", store, sources: ["paypal"] });
const handle = ({ id }) => effect(id);

const app = express();
app.post("/paypal", express.text({ type: "*/*", limit: "1mb" }), async (request, response) => {
  const event = await paypalEvent(request);
  if (!event) return response.status(401).end();
  const reply = answer(await guard.run({ source: "paypal", id: event.id, body: event }, handle));
  response.writeHead(reply.status, reply.headers).end(reply.body);
});
app.listen(process.env.PORT ?? 3000);
