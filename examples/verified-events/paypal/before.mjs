// A webhook endpoint for PayPal: it has PayPal's API verify the request, and handles the event.
import express from "express";
import { effect } from "../effect.mjs";
import { paypalEvent } from "./verify.mjs";

const handle = ({ id }) => effect(id);

const app = express();
app.post("/paypal", express.text({ type: "*/*", limit: "1mb" }), async (request, response) => {
  const event = await paypalEvent(request);
  if (!event) return response.status(401).end();
  await handle(event);
  response.status(200).end();
});
app.listen(process.env.PORT ?? 3000);
