import { createServer } from "node:http";
import { Webhooks } from "@octokit/webhooks";
import { answer, createIntake } from "svc-webhooks";
import { effect } from "../effect.mjs";
import { store } from "../store.mjs";

const webhooks = new Webhooks({ secret: process.env.GITHUB_WEBHOOK_SECRET });

webhooks.on("issues.opened", async ({ id }) => {
  await effect(id);
});

// Each event runs all its listeners, once.
const intake = createIntake({
  name: "github",
  store,
  sources: ["octokit"],
  on: { "*": (payload, { deliveryId: id, type: name }) => webhooks.receive({ id, name, payload }) },
});

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const { headers } = request;
  const isGenuine = await webhooks.verify(body, headers["x-hub-signature-256"] ?? "");
  if (!isGenuine) return response.writeHead(401).end();
  const [id, type] = [headers["x-github-delivery"], headers["x-github-event"]];
  const reply = answer(await intake.accept({ source: "octokit", id, type, body }));
  response.writeHead(reply.status, reply.headers).end(reply.body);
}).listen(process.env.PORT ?? 3000);
