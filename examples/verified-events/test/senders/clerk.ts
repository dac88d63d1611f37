import { Webhook } from "standardwebhooks";
import type { Program } from "../program.js";

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString("base64")}`;

const secret = secretOf("the secret of the example");

export const clerk: Program = {
  folder: "clerk",
  packages: ["@clerk/backend@3.25.0"],
  isServed: true,
  secret,
  wrongSecret: secretOf("another secret"),
  environment: () => ({ CLERK_WEBHOOK_SIGNING_SECRET: secret }),
  sign(id, signingSecret) {
    const body = JSON.stringify({ object: "event", type: "user.created", data: { id } });
    const time = new Date();
    return {
      path: "/api/webhooks",
      body,
      headers: {
        "content-type": "application/json",
        "svix-id": `msg_${id}`,
        "svix-timestamp": String(Math.floor(time.getTime() / 1000)),
        "svix-signature": new Webhook(signingSecret).sign(`msg_${id}`, time, body),
      },
    };
  },
  before: { failure: 1, crash: 1 },
};
