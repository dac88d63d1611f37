import { App } from "@slack/bolt";
import { effect } from "../effect.mjs";

const app = new App({
  signingSecret: process.env.SLACK_SIGNING_SECRET,
  token: process.env.SLACK_BOT_TOKEN,
  botId: process.env.SLACK_BOT_ID,
  botUserId: process.env.SLACK_BOT_USER_ID,
});

app.event("app_mention", async ({ body }) => {
  await effect(body.event_id);
});

// Receives at /slack/events.
await app.start(process.env.PORT ?? 3000);
