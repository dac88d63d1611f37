import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createClient } from "@svc-webhooks/client";
import { createSandbox } from "@svc-webhooks/sandbox";
import { createApp } from "./app.js";
import { scenes, type Demo } from "./scenes.js";
import { createStage } from "./stage.js";
import { heading, print, request, verdict } from "./timeline.js";

const sandbox = createSandbox();
const { url } = await sandbox.listen(0);
const connection = { apiKey: "svc_demo", baseUrl: url };
const client = createClient({ ...connection, onResponse: request });
const stage = createStage();
const secrets: { id: string; key: string }[] = [];

const app = createApp(stage.handler, {
  secret: () => secrets,
  observe: stage.observe,
  // The timeline shows each response.
  logger: { info() {}, warn() {}, error() {} },
  onHandlerError() {},
});
const server = createServer(app).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

print(`The sandbox serves the whole service at ${url},`);
print(`and an Express app receives its webhooks at http://localhost:${port}/webhooks.`);
print("→ is a request to the service, ← a delivery to the app and its response.");

heading("A domain and an endpoint");
const domain = await client.domains.create({ domain_name: "example.test" });
await client.domains.verify(domain.domain_id);
const { webhook_endpoint, secret } = await client.webhookEndpoints.create({
  url: `http://localhost:${port}/webhooks`,
  event_types: ["email.sent", "email.delivered"],
});
secrets.push({ id: "first", key: secret.reveal() });

const demo: Demo = {
  client,
  quietly: createClient(connection),
  stage,
  secrets,
  endpointId: webhook_endpoint.webhook_endpoint_id,
};
const problems: string[] = [];
for (const scene of scenes) {
  try {
    const problem = await scene(demo);
    if (problem !== undefined) problems.push(problem);
  } catch (error) {
    problems.push(String(error));
  }
}
const events = stage.handled.size;
const twice = Array.from(stage.handled.values()).filter((times) => times !== 1).length;
if (events !== 46 || twice > 0)
  problems.push(`${events} of 46 events handled, ${twice} of them twice`);

for (const problem of problems) print(`✗ ${problem}`);
verdict(problems.length === 0, `23 emails, 46 events: ${events - twice} handled exactly once.`);
print("Do it yourself: npm run sandbox. The receiver alone: npm run demo:receiver");

server.close();
server.closeAllConnections();
await sandbox.close();
process.exitCode = problems.length === 0 ? 0 : 1;
