import { createServer } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import { effect } from "../effect.mjs";

const webhooks = new Webhooks({ secret: process.env.GITHUB_WEBHOOK_SECRET });

webhooks.on("issues.opened", async ({ id }) => {
  await effect(id);
});

// Receives at /api/github/webhooks.
createServer(createNodeMiddleware(webhooks)).listen(process.env.PORT ?? 3000);
