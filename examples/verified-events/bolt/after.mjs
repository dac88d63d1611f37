import { createServer } from "node:http";
import { App, HTTPModuleFunctions as http } from "@slack/bolt";
import { answer, createIntake } from "svc-webhooks";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";

const app = new App({
  receiver: { init() {}, start: (port) => server.listen(port), stop: () => server.close() },
  token: process.env.SLACK_BOT_TOKEN,
  botId: process.env.SLACK_BOT_ID,
  botUserId: process.env.SLACK_BOT_USER_ID,
});

app.event("app_mention", async ({ body }) => {
  await effect(body.event_id);
});

const intake = createIntake({
  name: "slack",
  store,
  sources: ["bolt"],
  eventType: ({ event }) => event.type,
  on: { "*": (body) => app.processEvent({ body, ack: async () => {} }) },
});
const server = createServer(async (request, response) => {
  try {
    const signingSecret = process.env.SLACK_SIGNING_SECRET;
    await http.parseAndVerifyHTTPRequest({ signingSecret }, request);
  } catch {
    return response.writeHead(401).end();
  }
  const body = http.parseHTTPRequestBody(request);
  if (body.type === "url_verification") return http.buildUrlVerificationResponse(response, body);
  const reply = answer(await intake.accept({ source: "bolt", id: body.event_id, body }));
  response.writeHead(reply.status, reply.headers).end(reply.body);
});

// Receives at /slack/events.
await app.start(process.env.PORT ?? 3000);
