import { expect, test } from "vitest";
import { createSandbox, runScenario } from "@svc-webhooks/sandbox";
import { apiKey, email, newFile, open, receiver, type Opened } from "../support.js";
import { handWritten, newSecret, oldSecret } from "./receivers.js";
import { stopped } from "./stopped.js";

const secrets = [oldSecret, newSecret];

/** Does on the page and through the interface what a developer would. Ends with a stopped recording. */
async function session(opened: Opened) {
  const { url } = await receiver([503, 200, 500]);
  await opened.control("POST recording/start");
  const { id } = await opened.endpoint(url);
  await opened.send({}, { "idempotency-key": "0b0e-secretlike-value" });
  await opened.send({}, { "idempotency-key": "0b0e-secretlike-value" });
  await opened.settle();
  await opened.control("POST faults", { target: id, kind: "refused", times: 1 });
  await opened.control("POST test-email", { subject: "Hello {name}" });
  await opened.settle();
  await opened.control("POST clock", { to: "next" });
  const [first] = await opened.events();
  const [delivery] = await opened.deliveries();
  await opened.control(`POST deliveries/${delivery?.id}/send`, { times: 2 });
  await opened.settle();
  await opened.control("POST clock", { advance_ms: 90_000 });
  const redelivered = await opened.call(`POST /v1/webhook-events/${first?.event_id}:redeliver`);
  await opened.call("POST /v1/domains", { domain_name: "mail.example.test" });
  await opened.control("POST checkpoints", { name: "middle" });
  await opened.call(`POST /v1/webhook-endpoints/${id}:rotate-secret`);
  await opened.control("POST checkpoints/middle/rewind");
  await opened.call("POST /v1/emails", { subject: 7 });
  return { url, id, redelivered: redelivered.status, ...(await stopped(opened)) };
}

test("records what was done as steps, with names in place of ids, URLs and keys", async () => {
  const opened = await open();
  const { url, text, file, state } = await session(opened);
  expect(state).toMatchObject({ state: "finished", name: "recorded", left_out: 0 });
  expect(text).not.toContain(url);
  expect(text).not.toMatch(/whsec_|svc_live|Bearer|secretlike|127\.0\.0\.1/);
  expect(text).not.toMatch(/\b(?:we|evt|dlv|send|fault|dom)_[A-Za-z0-9]{20}/);
  expect(file.steps[0]).toEqual({
    request: {
      method: "POST",
      path: "/v1/webhook-endpoints",
      body: {
        url: "{receiver}",
        event_types: ["email.sent", "email.delivered", "domain.updated"],
      },
    },
    status: 201,
    capture: { endpoint: "webhook_endpoint.webhook_endpoint_id" },
  });
  expect(file.steps[1]).toMatchObject({
    request: { path: "/v1/emails", idempotency_key: "key-1", body: email },
    status: 202,
  });
  expect(file.steps).toContainEqual({
    action: "test-email",
    body: { subject: "Hello {{name}" },
  });
  expect(file.steps).toContainEqual({ find: { number: 1 }, capture: { delivery: "id" } });
  expect(file.steps).toContainEqual({
    action: "send",
    params: { id: "{delivery}" },
    body: { times: 2 },
  });
  expect(file.steps).toContainEqual({ advance: "90000ms" });
  expect(file.steps).toContainEqual({ action: "rewind", params: { name: "middle" } });
  expect(file.steps.at(-1)).toHaveProperty("expect.deliveries.count");
});

test("a recording runs with the same report twice, and after a restart with data", async () => {
  const data = newFile();
  const opened = await open({ data, clock: { mode: "manual" } });
  const { file } = await session(opened);
  await opened.sandbox.close();
  const run = async (options: object) => {
    // The receiver responds as it did during the recording.
    const { url } = await receiver([503, 200, 500]);
    return JSON.stringify(await runScenario(file, { to: url, secrets, ...options }));
  };
  const kept = newFile();
  const first = await run({});
  expect(JSON.parse(first)).toMatchObject({ met: true, ran: file.steps.length });
  expect(await run({})).toBe(first);
  expect(await run({ data: kept })).toBe(first);
  expect(await run({ data: kept })).toBe(first);
  const { met } = await runScenario(file, { to: (await receiver(500)).url, secrets });
  expect(met).toBe(false);
});

test("begins with what exists already, and leaves out what it cannot refer to", async () => {
  const opened = await open({
    assumptions: { "A-09": "none", "A-23": "keys:svc_live_0123456789abcdef" },
  });
  const { url } = await receiver(500);
  const { id } = await opened.register(url);
  await opened.call("POST /v1/domains", { domain_name: "mail.example.test" });
  const [domain] = (await opened.control("GET domains")).body.data;
  await opened.control(`POST domains/${domain?.domain_id}/verify`);
  await opened.fault("status", { target: id, times: 3, status: 429 });
  await opened.send();
  await opened.settle();
  const [before] = await opened.events();
  await opened.control("POST recording/start");
  await opened.call(`POST /v1/webhook-events/${before?.event_id}:redeliver`);
  await opened.call(`DELETE /v1/webhook-endpoints/${id}`);
  const { file, text, state } = await stopped(opened);
  expect(state.left_out).toBe(1);
  expect(file.assumptions).toEqual({ "A-09": "none" });
  expect(text).not.toContain(apiKey);
  expect(file.steps).toEqual([
    {
      request: { method: "POST", path: "/v1/domains", body: { domain_name: "mail.example.test" } },
      status: 201,
      capture: { "initial-domain-1": "domain_id" },
    },
    {
      action: "force-domain",
      params: { id: "{initial-domain-1}" },
      body: { outcome: "verified" },
    },
    {
      request: {
        method: "POST",
        path: "/v1/webhook-endpoints",
        body: { url: "{receiver}", event_types: ["email.sent"] },
      },
      status: 201,
      capture: { "initial-endpoint-1": "webhook_endpoint.webhook_endpoint_id" },
    },
    {
      action: "add-fault",
      body: {
        target: "{initial-endpoint-1}",
        kind: "status",
        times: 2,
        status: 429,
      },
    },
    {
      request: { method: "DELETE", path: "/v1/webhook-endpoints/{initial-endpoint-1}" },
      status: 200,
    },
  ]);
  expect((await runScenario(file, { to: await handWritten({}), secrets })).met).toBe(true);
});

test("records secrets in bodies as an ellipsis, and requests that a fault lost", async () => {
  const opened = await open();
  const { url } = await receiver();
  await opened.control("POST recording/start");
  const { secret } = await opened.register(url);
  const text = `${secret} and ${apiKey} and svc_test_otherkey and whsec_another`;
  await opened.send({ text });
  await opened.fault("reset");
  await expect(opened.send()).rejects.toThrow("fetch failed");
  const { file } = await stopped(opened);
  expect(file.steps[1]).toMatchObject({ request: { body: { text: "… and … and … and …" } } });
  expect(file.steps).toContainEqual(expect.objectContaining({ status: "lost" }));
  const report = await runScenario(file, { to: url, secrets });
  expect(report.met).toBe(true);
});

test("a reset starts the recording again, and a checkpoint from before it is refused", async () => {
  const opened = await open();
  await opened.control("POST checkpoints", { name: "before" });
  await opened.control("POST recording/start");
  const refused = await opened.control("POST checkpoints/before/rewind");
  expect([refused.status, refused.body.error.message]).toEqual([
    409,
    "The checkpoint was taken before the recording began. Stop the recording first.",
  ]);
  await opened.call("POST /v1/domains", { domain_name: "a.test" });
  await opened.control("POST reset");
  await opened.call("POST /v1/domains", { domain_name: "b.test" });
  const { file } = await stopped(opened);
  expect(file.steps).toHaveLength(1);
  expect(file.steps[0]).toMatchObject({ request: { body: { domain_name: "b.test" } } });
});

test("states that there is no recording, or that it has not ended", async () => {
  const { control } = await open();
  const message = async (route: "GET recording" | "POST recording/stop") =>
    (
      (await control(route, route === "GET recording" ? undefined : {})).body as {
        error: { message: string };
      }
    ).error.message;
  expect(await message("GET recording")).toMatch(/Start one with POST/);
  expect(await message("POST recording/stop")).toBe("There is no recording. Start one first.");
  await control("POST recording/start");
  expect(await message("GET recording")).toBe("The recording has not ended. Stop it first.");
});

test("keeps a recording within the limits of a file", async () => {
  const sandbox = createSandbox({ clock: "manual", log: () => {} });
  const post = (path: string, body: object) =>
    sandbox.fetch(
      new Request(`http://sandbox.test${path}`, {
        method: "POST",
        headers: { authorization: "Bearer svc_test", "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  await post("/_sandbox/recording/start", {});
  for (let n = 0; n < 1_000; n += 1) await post("/v1/domains", { domain_name: `d${n}.test` });
  const { steps, left_out } = (await (await post("/_sandbox/recording/stop", {})).json()) as {
    readonly steps: number;
    readonly left_out: number;
  };
  expect([steps + left_out, steps]).toEqual([1_000, 900]);
  await sandbox.close();
});
