import { present } from "@svc-webhooks/kit/present";
import { until } from "@svc-webhooks/kit/until";
import { expect, test } from "vitest";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { apiKey, newFile, open, receiver, subscribed, type Opened } from "../support.js";

const seeded: SandboxOptions = { seed: 7, clock: { mode: "manual", start: 1_800_000_000_000 } };

/** Returns what the control routes show, except real durations. */
async function shown({ control, clock }: Opened) {
  const routes = ["deliveries", "endpoints", "domains", "faults", "assumptions"] as const;
  const lists = [];
  for (const route of routes)
    lists.push((await control(`GET ${route}`)).text.replaceAll(/"ms":\d+,/g, ""));
  const { counts, clock: time } = (await control("GET overview")).body;
  return { lists, counts, time, due: clock.nextDue };
}

test("a rewind restores records, pending deliveries, faults, assumptions and the clock", async () => {
  const opened = await subscribed([500, 500]);
  const { clock, control, call, id, sandbox } = opened;
  await opened.send();
  await clock.advance(2_000);
  await opened.fault("status", { target: id, times: 2 });
  const before = await shown(opened);
  await sandbox.checkpoint();

  await clock.advance(3_600_000);
  await opened.send();
  await control("POST assumptions/A-09", { value: "none" });
  await call("POST /v1/domains", { domain_name: "later.example.test" });
  await call(`DELETE /v1/webhook-endpoints/${id}`);
  expect(await shown(opened)).not.toEqual(before);
  await sandbox.rewind();
  expect(await shown(opened)).toEqual(before);

  await clock.advance(100_000);
  const deliveries = await opened.deliveries();
  expect(deliveries.map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
});

test("the same steps after a rewind lead to the same ids, secrets and times", async () => {
  const opened = await open(seeded);
  const steps = async () => {
    const { id, secret } = await opened.register("http://127.0.0.1:9/");
    await opened.send({}, { "idempotency-key": "same" });
    await opened.clock.advance(7_000);
    return { id, secret, ...(await shown(opened)) };
  };
  await opened.sandbox.checkpoint("start");
  const first = await steps();
  await opened.sandbox.rewind("start");
  expect(await steps()).toEqual(first);
});

test("a checkpoint in a data file survives a restart, with the seed's sequence", async () => {
  const data = newFile();
  const { url } = await receiver(500);
  const first = await open({ ...seeded, data });
  await first.endpoint(url);
  await first.send({}, { "idempotency-key": "a" });
  await first.clock.advance(1_500);
  await first.sandbox.checkpoint("kept");
  const before = await shown(first);
  const next = (await first.register(url)).id;
  await first.sandbox.close();

  const second = await open({ ...seeded, data });
  expect((await second.control("GET checkpoints")).body.data).toMatchObject([
    { name: "kept", calls: 2, deliveries: 2, pending: 2 },
  ]);
  await second.sandbox.rewind("kept");
  expect(await shown(second)).toEqual(before);
  expect((await second.register(url)).id).toBe(next);
  await second.sandbox.rewind("kept");
  await second.sandbox.close();

  const third = await open({ ...seeded, clock: undefined, data });
  expect(await shown(third)).toEqual(before);
});

test("a rewound file keeps the order of records that were dropped in between", async () => {
  const data = newFile();
  const first = await open({ data, maxDeliveries: 3 });
  for (let n = 0; n < 3; n += 1) await first.call("POST /v1/domains", { domain_name: `${n}.test` });
  const before = (await first.calls()).map(({ id }) => id);
  await first.sandbox.checkpoint();
  for (let n = 0; n < 300; n += 1) await first.call("GET /v1/webhook-event-types");
  expect((await first.calls()).map(({ id }) => id)).not.toEqual(expect.arrayContaining(before));
  await first.sandbox.rewind();
  await first.sandbox.close();
  const second = await open({ data, clock: undefined });
  expect((await second.calls()).map(({ id }) => id)).toEqual(before);
});

test("a rewind restores the rate limit and the idempotency keys", async () => {
  const opened = await open({ assumptions: { "A-16": "epoch:2/60s" } });
  const list = () => opened.call("GET /v1/webhook-event-types");
  expect((await list()).status).toBe(200);
  await opened.sandbox.checkpoint();
  expect([(await list()).status, (await list()).status]).toEqual([200, 429]);
  await opened.sandbox.rewind();
  expect([(await list()).status, (await list()).status]).toEqual([200, 429]);

  const other = await open();
  await other.sandbox.checkpoint();
  const first = await other.send({}, { "idempotency-key": "once" });
  await other.sandbox.rewind();
  const second = await other.send({}, { "idempotency-key": "once" });
  expect([first.status, second.status]).toEqual([202, 202]);
  expect(second.body.send_id).not.toBe(first.body.send_id);
});

test("an attempt that runs at the rewind is made again, and its first result is not recorded", async () => {
  const opened = await open({ clock: { mode: "manual", patienceMs: 1 } });
  const { url, got } = await receiver((response, n) => void (n > 1 && response.end()));
  await opened.register(url);
  await opened.send();
  await until(() => got.length === 1, "the first attempt has arrived");
  await opened.sandbox.checkpoint();
  await opened.sandbox.rewind();
  const state = async () => (await opened.deliveries())[0]?.state;
  await until(async () => (await state()) === "succeeded", "the attempt was made again");
  const [delivery] = await opened.deliveries();
  expect([got.length, delivery?.attempts.length]).toEqual([2, 1]);
});

test("a request that a fault delays gets 503 if the sandbox is rewound meanwhile", async () => {
  const opened = await open();
  await opened.sandbox.checkpoint();
  await opened.fault("slow", { delay_ms: 5_000 });
  const sending = opened.send();
  await opened.clock.advance(0);
  while (opened.clock.nextDue === undefined) await opened.clock.advance(0);
  await opened.sandbox.rewind();
  const { status, headers, body } = await sending;
  expect([status, headers.get("retry-after"), body.error.code]).toEqual([
    503,
    "1",
    "service_unavailable",
  ]);
  expect(await opened.calls()).toEqual([]);
});

test("a rewind waits for a running move of the clock", async () => {
  const opened = await subscribed(200);
  await opened.sandbox.checkpoint();
  const before = opened.clock.now();
  await opened.send();
  const moving = opened.clock.advance(60_000);
  await opened.sandbox.rewind();
  await moving;
  expect([opened.clock.now(), (await opened.deliveries()).length]).toEqual([before, 0]);
});

test("real time continues from the checkpoint after a rewind", async () => {
  const opened = await open({ clock: "real" });
  await opened.sandbox.checkpoint();
  await opened.clock.advance(3_600_000);
  expect(opened.clock.offsetMs).toBeGreaterThanOrEqual(3_600_000);
  await opened.sandbox.rewind();
  expect(opened.clock.offsetMs).toBeLessThanOrEqual(0);
  expect(opened.clock.offsetMs).toBeGreaterThan(-3_600_000);
});

test("the stream starts a new epoch, and the page states that the sandbox was rewound", async () => {
  const opened = await open();
  await opened.control("POST checkpoints", {});
  const before = (await opened.control("GET overview")).body;
  const { status, body } = await opened.control("POST checkpoints/checkpoint/rewind");
  expect([status, body.name]).toEqual([200, "checkpoint"]);
  const after = (await opened.control("GET overview")).body;
  expect(after.epoch).not.toBe(before.epoch);
  expect(present(after.rewound_at)).toBe(before.clock.now);
});

test("states what is wrong with a name, and which checkpoints exist", async () => {
  const { control, sandbox } = await open();
  const missing = await control("POST checkpoints/none/rewind");
  expect([missing.status, missing.body.error.message]).toEqual([
    404,
    "There are no checkpoints. Take one first.",
  ]);
  expect((await control("POST checkpoints", { name: "a b" })).body.error.message).toBe(
    "name must have 1 to 60 letters, digits, hyphens and underscores.",
  );
  for (const name of ["a", "b", "c", "d", "e", "a"]) await sandbox.checkpoint(name);
  const full = await control("POST checkpoints", { name: "f" });
  expect([full.status, full.body.error.code]).toEqual([409, "conflict"]);
  expect(full.body.error.message).toMatch(/^There are already 5 checkpoints\. /);
  await expect(sandbox.rewind("f")).rejects.toMatchObject({
    code: "not_found",
    message: "There is no checkpoint of this name. The checkpoints are: a, b, c, d, e.",
  });
  sandbox.reset();
  expect((await control("GET checkpoints")).body.data).toEqual([]);
});

test("a rewind restores accepted API keys, and a function of the options", async () => {
  const options: SandboxOptions = {
    assumptions: { "A-23": `keys:${apiKey}`, "A-07": ({ type }: { type: string }) => ({ type }) },
  };
  const data = newFile();
  const opened = await open({ ...options, data });
  await opened.sandbox.checkpoint();
  await opened.control("POST assumptions/A-23", { value: "any" });
  await opened.control("POST assumptions/A-07", { value: "bare" });
  await opened.sandbox.rewind();
  const { url, got } = await receiver();
  await opened.register(url);
  await opened.send();
  await opened.settle();
  expect(got.map(({ body }) => JSON.parse(body.toString()))).toEqual([{ type: "email.sent" }]);
  const other = { authorization: "Bearer svc_live_another_key_0" };
  const list = () => opened.call("GET /v1/webhook-event-types", undefined, other);
  expect((await list()).status).toBe(401);
});
