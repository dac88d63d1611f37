import { runScenario } from "@svc-webhooks/sandbox";
import { expect, test } from "vitest";
import { email, open, posted, receiver } from "../support.js";
import { newSecret, oldSecret } from "./receivers.js";
import { stopped } from "./stopped.js";

const secrets = [oldSecret, newSecret];

/** Runs a recorded file against a receiver that accepts everything. */
const replay = async (file: object) => runScenario(file, { to: (await receiver()).url, secrets });

test("writes neither secrets in the names of members, nor the URL of a refused endpoint", async () => {
  const opened = await open();
  await opened.control("POST recording/start");
  await opened.call("POST /v1/emails", { ...email, whsec_TheSecretOfAnother: { "a{b": 1 } });
  await opened.call("POST /v1/webhook-endpoints", {
    url: "https://user:pw@hooks.example.test/x?token=hidden",
    event_types: ["email.sent"],
  });
  await opened.call("POST /v1/webhook-endpoints", {
    url: "https://user:pw@hooks.example.test/x?token=hidden",
    event_types: ["email.none"],
  });
  const { text, file, state } = await stopped(opened);
  expect(text).not.toMatch(/whsec_|user|hooks|hidden/);
  expect(file.steps[0]).toMatchObject({ request: { body: { "…": { "a{{b": 1 } } } });
  expect(state.left_out).toBe(2);
  expect((await replay(file)).met).toBe(true);
});

test("records more time than fits into one step, and runs it", async () => {
  const opened = await open({ clock: { mode: "manual" } });
  await opened.control("POST recording/start");
  await opened.call("POST /v1/domains", { domain_name: "a.example.test" });
  const day = 86_400_000;
  await opened.clock.advance(12 * day);
  await opened.call("POST /v1/domains", { domain_name: "b.example.test" });
  await opened.clock.advance(3_650 * day);
  await opened.clock.advance(10 * day);
  const { file } = await stopped(opened);
  expect(file.steps.filter((step) => "advance" in step)).toEqual([
    { advance: `${12 * day}ms` },
    { advance: `${3_650 * day}ms` },
    { advance: `${10 * day}ms` },
  ]);
  expect((await replay(file)).met).toBe(true);
});

test("leaves out requests that a file cannot contain, and counts them", async () => {
  const opened = await open();
  const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);
  await opened.control("POST recording/start");
  await opened.call("PUT /v1/emails", email);
  await opened.call("PATCH /v1/domains", {});
  await opened.call("POST /v1/domains", { domain_name: nested(70) });
  await opened.call("POST /v1/domains", { list: nested(55), zeros: Array(20_000).fill(0) });
  await opened.call("POST /v1/domains", { domain_name: "a.example.test" });
  await opened.call("POST /v1/domains", { zeros: Array(120_000).fill(0) });
  const { text, file, state } = await stopped(opened);
  expect(text.length).toBeLessThan(1_048_576);
  expect([file.steps.length, state.left_out]).toEqual([2, 4]);
  expect((await replay(file)).met).toBe(true);
});

test("begins with at most as much as a file can contain", async () => {
  const opened = await open();
  const { url } = await receiver();
  for (let n = 0; n < 950; n += 1) {
    const request = new Request(
      "http://sandbox.test/v1/domains",
      posted({ domain_name: `d${n}.test` }),
    );
    await opened.sandbox.fetch(request);
  }
  const { id } = await opened.register(url);
  await opened.fault("status", { target: id, status: 500 });
  await opened.control("POST recording/start");
  await opened.call(`DELETE /v1/webhook-endpoints/${id}`);
  const { file, state } = await stopped(opened);
  expect(file.steps).toHaveLength(900);
  expect(state.left_out).toBe(52);
  expect((await replay(file)).met).toBe(true);
});

test("a recording without steps is a scenario", async () => {
  const opened = await open();
  await opened.control("POST recording/start");
  const { file } = await stopped(opened);
  expect(await replay(file)).toMatchObject({ met: true, results: [] });
});

test("leaves out requests without a key, which a run would add, and keeps the query", async () => {
  const opened = await open({ assumptions: { "A-23": "keys:svc_live_0123456789abcdef" } });
  await opened.control("POST recording/start");
  await opened.send({}, { authorization: null });
  await opened.send({}, { authorization: "Bearer svc_live_unknown" });
  await opened.send({}, { "idempotency-key": null });
  await opened.send({}, { "idempotency-key": "k".repeat(257) });
  await opened.send({}, { "content-type": "text/plain" });
  await opened.call("POST /v1/emails?source=a%20b", email, { "idempotency-key": "first" });
  await opened.call("POST /v1/emails?source=a%20b", email, { "idempotency-key": "first" });
  const { file, state } = await stopped(opened);
  expect(state.left_out).toBe(5);
  const repeated = { request: { path: "/v1/emails?source=a%20b", idempotency_key: "key-1" } };
  expect(file.steps.slice(0, 2)).toMatchObject([repeated, repeated]);
  expect((await replay(file)).met).toBe(true);
  const [first] = file.steps as readonly { readonly request: object }[];
  const keyless = { ...first, request: { ...first?.request, idempotency_key: undefined } };
  expect((await replay({ ...file, steps: [keyless] })).met).toBe(true);
});

test("the time before a rewind is recorded too", async () => {
  const opened = await open({ clock: { mode: "manual" } });
  await opened.control("POST recording/start");
  await opened.control("POST checkpoints", { name: "one" });
  await opened.control("POST clock", { advance_ms: 60_000 });
  await opened.control("POST checkpoints/one/rewind");
  await opened.control("POST clock", { advance_ms: 5_000 });
  const { file } = await stopped(opened);
  expect(file.steps).toEqual([
    { action: "checkpoint", body: { name: "one" } },
    { advance: "60000ms" },
    { action: "rewind", params: { name: "one" } },
    { advance: "5000ms" },
  ]);
});

test("a rewind makes later steps refer to what exists after it, although ids repeat", async () => {
  const opened = await open({ seed: 7, clock: { mode: "manual" } });
  const { url } = await receiver();
  await opened.control("POST recording/start");
  const before = await opened.register(url);
  await opened.control("POST checkpoints", { name: "one" });
  const first = await opened.register(url);
  await opened.control("POST checkpoints", { name: "two" });
  await opened.call(`DELETE /v1/webhook-endpoints/${first.id}`);
  await opened.control("POST checkpoints/one/rewind");
  const second = await opened.register(url);
  expect(second.id).toBe(first.id);
  await opened.call(`POST /v1/webhook-endpoints/${second.id}:rotate-secret`);
  await opened.call(`POST /v1/webhook-endpoints/${before.id}:rotate-secret`);
  await opened.control("POST checkpoints/two/rewind");
  await opened.call(`DELETE /v1/webhook-endpoints/${first.id}`);
  await opened.send();
  await opened.settle();
  const { file, state } = await stopped(opened);
  expect(state.left_out).toBe(0);
  const more = ["whsec_third", "whsec_fourth"];
  const report = await runScenario(file, {
    to: (await receiver()).url,
    secrets: [...secrets, ...more],
  });
  expect(report.results.filter(({ met }) => !met)).toEqual([]);
  expect(report.met).toBe(true);
});

test("does not count the work that was pending when the recording began", async () => {
  const opened = await open({ clock: { mode: "manual" } });
  const { url } = await receiver();
  await opened.endpoint(url);
  await opened.send();
  await opened.control("POST recording/start");
  await opened.settle();
  await opened.clock.advance(60_000);
  expect((await opened.deliveries()).length).toBeGreaterThan(1);
  await opened.send();
  await opened.settle();
  const newest = (await opened.deliveries()).at(-1);
  await opened.control(`POST deliveries/${newest?.id}/send`, {});
  await opened.clock.advance(60_000);
  const { file, state } = await stopped(opened);
  expect(state.left_out).toBe(0);
  expect(file.steps.find((step) => "find" in step)).toMatchObject({ find: { number: 2 } });
  const report = await replay(file);
  expect(report.results.filter(({ met }) => !met)).toEqual([]);
});
