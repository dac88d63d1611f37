import { Readable } from "node:stream";
import { createClient } from "@svc-webhooks/client";
import { createSandbox } from "@svc-webhooks/sandbox";
import { freePort } from "@svc-webhooks/kit/free-port";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import { leave, register, watch } from "../src/listen/registration.js";
import { server } from "./developing.js";
import { deliver } from "./listening.js";
import { start } from "./support.js";

const idIn = (text: string) => /registered as (\S+)/.exec(text)?.[1] ?? "";

async function listening(service: string, port = 0) {
  const started = start(["listen", `--port=${port}`], { SVC_BASE_URL: service });
  await started.shows(/Fingerprint/);
  return { ...started, id: idIn(started.output.stdout) };
}

const reset = (url: string) => fetch(`${url}/_sandbox/reset`, { method: "POST" });

const archiveAt = (baseUrl: string, id: string) =>
  createClient({ baseUrl, apiKey: "svc_test" }).webhookEndpoints.archive(id);

test.each([
  ["was reset", reset],
  ["has archived the endpoint", archiveAt],
])("listen ends if the sandbox %s", async (_what, lose) => {
  const { url } = await openSandbox({ clock: "real" });
  const { id, ended } = await listening(url);
  await lose(url, id);
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`The sandbox no longer has ${id}, so nothing would arrive.`);
  expect(stderr).toContain("Start this command again.");
  expect(stderr).not.toContain("archived.\n");
});

test("listen ends if the sandbox was restarted", async () => {
  const { sandbox, url } = await openSandbox({ clock: "real" });
  const { shows, ended } = start(["listen", "--port=0", "--json"], { SVC_BASE_URL: url });
  await shows(/secret_fingerprint/);
  await sandbox.close();
  const restarted = createSandbox();
  onTestFinished(() => restarted.close());
  await restarted.listen(Number(new URL(url).port));
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr).toContain('{"error":{"code":"endpoint_gone",');
});

testPosix("dev stops the app and ends if the sandbox has archived the endpoint", async () => {
  const { url } = await openSandbox({ clock: "real" });
  const port = await freePort();
  const to = `http://localhost:${port}/webhooks`;
  const started = start(["dev", "--to", to, "--", "sh", "-c", server()], {
    SVC_BASE_URL: url,
    PORT: undefined,
  });
  await started.shows(/email\.sent/);
  const [id = ""] = /\bwe_\w+/.exec(started.output.stdout) ?? [];
  await archiveAt(url, id);
  const { code, stderr } = await started.ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`The sandbox no longer has ${id}, so nothing would arrive.`);
  expect(stderr).not.toContain("archived.\n");
  await expect(fetch(to)).rejects.toThrow("fetch failed");
});

/** Returns the context of a command that calls a service, and the lines that it notes. */
function contextAt(url: string) {
  const notes: string[] = [];
  const context = {
    env: {},
    options: {
      "base-url": url,
      "api-key-env": undefined,
      "api-key-file": undefined,
      "allow-external": false,
    },
    signal: new AbortController().signal,
    stdin: Readable.from([]),
    note: (line: string) => void notes.push(line),
  };
  return { context, notes };
}

test("a command that leaves an endpoint that no longer exists says so", async () => {
  const { url } = await openSandbox();
  const { context, notes } = contextAt(url);
  const { webhook_endpoint } = await register(context, "http://127.0.0.1:9/");
  const { webhook_endpoint_id: id } = webhook_endpoint;
  await reset(url);
  await leave(context, id, { archived: "archived", kept: "kept" });
  expect(notes).toEqual([`${id} no longer exists.`]);
});

test("an endpoint of a service that does not show its endpoints is not watched", async () => {
  const paths: unknown[] = [];
  const port = await listen((request, response) => {
    paths.push(request.url);
    response.writeHead(404).end();
  });
  const gone = new AbortController();
  await watch(contextAt(`http://127.0.0.1:${port}`).context, "we_1", gone, 1);
  expect(paths).toEqual(["/_sandbox/endpoints"]);
  expect(gone.signal.aborted).toBe(false);
});

test("listen names the endpoint that a killed command left, and says which deliveries are for it", async () => {
  const { url } = await openSandbox({ clock: "real" });
  const port = await freePort();
  const first = await listening(url, port);
  first.child.kill("SIGKILL");
  await first.ended;
  const second = await listening(url, port);
  await second.shows(
    new RegExp(`${first.id} has the same URL, .+ archive ${first.id}\\.`),
    "stderr",
  );
  await fetch(`${url}/_sandbox/test-email`, { method: "POST" });
  await second.shows(
    new RegExp(
      `signature_mismatch\\n {2}The delivery is for the endpoint ${first.id}, .+ archive ${first.id}\\.\\n`,
    ),
  );
  await deliver(`http://127.0.0.1:${port}/`, {}, { secret: "whsec_another" });
  await second.shows(
    new RegExp(`\\n {2}No known mistake produces this signature\\. .+ endpoint ${second.id}, and`),
  );
  expect(await second.interrupt()).toBe(130);
});
