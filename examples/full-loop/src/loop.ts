import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createClient } from "@svc-webhooks/client";
import { createSandbox, type Sandbox } from "@svc-webhooks/sandbox";
import { openInBrowser } from "@svc-webhooks/sandbox/command";
import { createApp } from "./app.js";
import type { Arguments } from "./arguments.js";
import type { Demo } from "./scene.js";
import { scenes } from "./scenes.js";
import { createStage } from "./stage.js";
import { heading, print, request, verdict } from "./timeline.js";

/**
 * Plays all scenes. With `serve` or `open` it then waits for SIGINT or SIGTERM.
 *
 * @returns the exit code: 0 if each event was handled exactly once, 1 otherwise
 */
export async function playLoop({ serve = false, open = false }: Arguments): Promise<0 | 1> {
  const isServed = serve || open;
  const sandbox = createSandbox();
  const { url } = isServed ? await listenAtUsualPort(sandbox) : await sandbox.listen(0);
  const page = `${url}/`;
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
  print(`Watch it in a browser: ${page}`);
  if (open) openInBrowser(page, print);
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
  if (events !== 52 || twice > 0)
    problems.push(`${events} of 52 events handled, ${twice} of them twice`);

  for (const problem of problems) print(`✗ ${problem}`);
  verdict(problems.length === 0, `26 emails, 52 events: ${events - twice} handled exactly once.`);
  if (isServed) {
    stage.broken.add("Broken");
    const isStopped = stopped();
    print(`Everything keeps running until Ctrl-C. Try on the page at ${page}`);
    print("  Send a test email: the app handles its two events, and both appear here too.");
    print(
      '  Choose the subject Broken under "…": the handler fails, and the service tries again.\n',
    );
    await isStopped;
  } else {
    print("To look around on the page: npm run demo -- --serve");
    print("Do it yourself: npm run sandbox. The receiver alone: npm run demo -- receiver");
  }

  server.close();
  server.closeAllConnections();
  await sandbox.close();
  return problems.length === 0 ? 0 : 1;
}

/** Listens on the port that the command line calls, or on a free one if it is in use. */
const listenAtUsualPort = (sandbox: Sandbox) => sandbox.listen().catch(() => sandbox.listen(0));

/** Resolves at SIGINT or SIGTERM. The same signal again ends the process immediately. */
const stopped = () => Promise.race(["SIGINT", "SIGTERM"].map((name) => once(process, name)));
