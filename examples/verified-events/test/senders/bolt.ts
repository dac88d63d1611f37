import { createHmac } from "node:crypto";
import type { Program } from "../program.js";

export const bolt: Program = {
  folder: "bolt",
  packages: ["@slack/bolt@5.1.0"],
  fixed: ["after.mjs", "guarded.mjs"],
  secret: "slack-secret",
  wrongSecret: "wrong-secret",
  environment: () => ({
    SLACK_SIGNING_SECRET: "slack-secret",
    SLACK_BOT_TOKEN: "xoxb-example",
    // With these, Bolt does not look them up.
    SLACK_BOT_ID: "B1",
    SLACK_BOT_USER_ID: "U1",
  }),
  sign(id, secret) {
    const body = JSON.stringify({
      type: "event_callback",
      team_id: "T1",
      api_app_id: "A1",
      event_id: id,
      event_time: 1,
      authorizations: [],
      event: {
        type: "app_mention",
        user: "U2",
        text: "Hi",
        ts: "1.1",
        channel: "C1",
        event_ts: "1.1",
      },
    });
    const time = String(Math.floor(Date.now() / 1000));
    const hmac = createHmac("sha256", secret).update(`v0:${time}:${body}`).digest("hex");
    return {
      path: "/slack/events",
      body,
      headers: {
        "content-type": "application/json",
        "x-slack-request-timestamp": time,
        "x-slack-signature": `v0=${hmac}`,
      },
    };
  },
  // Slack receives a 200 response before the listeners run, so it never repeats the event.
  before: { failure: 1, crash: 0 },
};
