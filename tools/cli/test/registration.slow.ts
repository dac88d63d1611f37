import { Readable } from "node:stream";
import { createClient } from "@svc-webhooks/client";
import { createSandbox } from "@svc-webhooks/sandbox";
import { freePort } from "@svc-webhooks/kit/free-port";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import { leave, reasonOf, register, watch } from "../src/listen/registration.js";
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

const rotateAt = (baseUrl: string, id: string) =>
  createClient({ baseUrl, apiKey: "svc_test" }).webhookEndpoints.rotateSecret(id);

const statusesAt = async (url: string) => {
  const response = await fetch(`${url}/_sandbox/endpoints`);
  const { data } = (await response.json()) as { readonly data: readonly { status: string }[] };
  return data.map(({ status }) => status);
};

test("listen explains a delivery after a rotation, and ends", async () => {
  const { url } = await openSandbox({ clock: "real" });
  const { id, ended, output } = await listening(url);
  await rotateAt(url, id);
  await fetch(`${url}/_sandbox/test-email`, { method: "POST" });
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`The secret of ${id} was rotated, so deliveries have the signature of`);
  expect(stderr).toContain("Start this command again.");
  expect(output.stdout).not.toContain("No known mistake");
  expect(await statusesAt(url)).toEqual(["archived"]);
});

test("a delivery with the new secret of a rotation ends the command before the next look", async () => {
  const { url } = await openSandbox({ clock: "real" });
  const { context } = contextAt(url);
  const created = await register(context, "http://127.0.0.1:9/");
  const own = registeredIn(created);
  const gone = new AbortController();
  expect(await reasonOf(context, own, gone, "dlv_1")).toBeUndefined();
  await rotateAt(url, own.id);
  expect(await reasonOf(context, own, gone, "dlv_1")).toBe(
    `The secret of ${own.id} was rotated, so deliveries have the signature of a secret that this command does not know.`,
  );
  expect(gone.signal.reason).toMatchObject({ code: "secret_rotated" });
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

testPosix.each([
  ["has archived the endpoint", archiveAt, /^The sandbox no longer has we_\w+, so nothing would/m],
  ["has rotated the secret", rotateAt, /^The secret of we_\w+ was rotated, so deliveries have/m],
])("dev stops the app and ends if the sandbox %s", async (_what, lose, expected) => {
  const { url } = await openSandbox({ clock: "real" });
  const port = await freePort();
  const to = `http://localhost:${port}/webhooks`;
  const started = start(["dev", "--to", to, "--", "sh", "-c", server()], {
    SVC_BASE_URL: url,
    PORT: undefined,
  });
  await started.shows(/email\.sent/);
  const [id = ""] = /\bwe_\w+/.exec(started.output.stdout) ?? [];
  await lose(url, id);
  const { code, stderr } = await started.ended;
  expect(code).toBe(1);
  expect(stderr.replace("svc-webhooks dev: ", "")).toMatch(expected);
  expect(await statusesAt(url)).toEqual(["archived"]);
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

const registeredIn = ({ webhook_endpoint, secret }: Awaited<ReturnType<typeof register>>) => ({
  id: webhook_endpoint.webhook_endpoint_id,
  url: webhook_endpoint.url,
  secret: secret.reveal(),
});

test("a command that leaves an endpoint that no longer exists says so", async () => {
  const { url } = await openSandbox();
  const { context, notes } = contextAt(url);
  const { webhook_endpoint } = await register(context, "http://127.0.0.1:9/");
  const { webhook_endpoint_id: id } = webhook_endpoint;
  await reset(url);
  await leave(context, id, { archived: "archived", kept: "kept" });
  expect(notes).toEqual([`${id} no longer exists.`]);
});

const own = { id: "we_1", url: "http://127.0.0.1:9/", secret: "whsec_1234" };

test.each([404, 429, 500, 200])(
  "an endpoint of a service that responds %i instead of its endpoints is not watched",
  async (status) => {
    const paths: unknown[] = [];
    const port = await listen((request, response) => {
      paths.push(request.url);
      response.writeHead(status, { "Retry-After": "0" }).end();
    });
    const gone = new AbortController();
    const { context, notes } = contextAt(`http://127.0.0.1:${port}`);
    await watch(context, own, gone, 1);
    expect(paths).toEqual(["/_sandbox/endpoints"]);
    expect(gone.signal.aborted).toBe(false);
    expect(notes).toEqual([]);
  },
);

test.each([429, 500])("listen starts although the service responds %i", async (status) => {
  const endpoint = { webhook_endpoint_id: "we_1", url: "x", status: "active", event_types: [] };
  const port = await listen((request, response) => {
    const isControl = request.url?.startsWith("/_sandbox/") === true;
    const isList = request.method === "GET";
    const data = isList
      ? { data: [{ type: "email.sent" }] }
      : { webhook_endpoint: endpoint, secret: "whsec_1234" };
    response.writeHead(isControl ? status : 200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(isControl ? {} : data));
  });
  const { id, interrupt } = await listening(`http://127.0.0.1:${port}`);
  expect(id).toBe("we_1");
  expect(await interrupt()).toBe(130);
});

test("a service that stops responding is noted once, and once when it is back", async () => {
  let looks = 0;
  const port = await listen((_request, response) => {
    looks += 1;
    // One failed look is a restart.
    if (looks === 2 || (looks > 3 && looks < 8)) return void response.destroy();
    const list = [{ webhook_endpoint_id: "we_1", status: "active", secret_hint: "…1234" }];
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ data: looks > 9 ? [] : list }));
  });
  const url = `http://127.0.0.1:${port}`;
  const { context, notes } = contextAt(url);
  const gone = new AbortController();
  await watch(context, own, gone, 1);
  expect(notes).toEqual([
    `The service at ${url} no longer responds, so nothing arrives from it. Start it again, or end this command with Ctrl-C.`,
    "The service responds again.",
  ]);
  expect(gone.signal.reason).toMatchObject({ code: "endpoint_gone" });
});

test("listen notes that its sandbox has stopped", async () => {
  const { sandbox, url } = await openSandbox({ clock: "real" });
  const { shows, interrupt } = await listening(url);
  await sandbox.close();
  await shows(/The service at \S+ no longer responds/, "stderr");
  expect(await interrupt()).toBe(130);
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
