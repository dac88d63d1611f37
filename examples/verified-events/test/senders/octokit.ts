import { sign } from "@octokit/webhooks-methods";
import type { Program } from "../program.js";

export const octokit: Program = {
  folder: "octokit",
  secret: "github-secret",
  wrongSecret: "wrong-secret",
  environment: () => ({ GITHUB_WEBHOOK_SECRET: "github-secret" }),
  async sign(id, secret) {
    const body = JSON.stringify({ action: "opened", issue: { number: 1 } });
    return {
      path: "/api/github/webhooks",
      body,
      headers: {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": id,
        "x-hub-signature-256": await sign(secret, body),
      },
    };
  },
  before: { failure: 1, crash: 1 },
};
