import { App } from "@slack/bolt";
import { createGuard } from "svc-webhooks";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";

const app = new App({
  signingSecret: process.env.SLACK_SIGNING_SECRET,
  processBeforeResponse: true,
  token: process.env.SLACK_BOT_TOKEN,
  botId: process.env.SLACK_BOT_ID,
  botUserId: process.env.SLACK_BOT_USER_ID,
});

const guard = createGuard({ name: "slack", store, sources: ["bolt"] });
app.use(async ({ body, next }) => {
  if (body.type !== "event_callback") return next();
  const event = { source: "bolt", id: body.event_id, type: body.event.type };
  const { code, status } = await guard.run(event, () => next());
  if (status >= 300) throw new Error(`Slack must send this event again: ${code}.`);
});

app.event("app_mention", async ({ body }) => {
  await effect(body.event_id);
});

// Receives at /slack/events.
await app.start(process.env.PORT ?? 3000);
