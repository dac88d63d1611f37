import { present } from "@svc-webhooks/kit/present";
import { copyFileSync } from "node:fs";
import { verify } from "@svc-webhooks/core";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { describe, expect, test } from "vitest";
import { hmac, newFile, open, receiver, type Opened, type Respond } from "../support.js";

/** Opens a sandbox with one delivery, whose receiver responds with `statuses`, and makes the first attempt. */
async function delivered(statuses: Respond, options: SandboxOptions = {}) {
  const sandbox = await open({
    assumptions: { "A-04": { "send.sent": "email.sent" } },
    ...options,
  });
  const { url, got } = await receiver(statuses);
  const { id: endpointId, secret } = await sandbox.endpoint(url);
  await sandbox.send();
  await sandbox.settle();
  const read = async () => {
    const { data } = (await sandbox.control("GET timeline?state=&type=email.sent")).body;
    return present(data[0]?.events[0]).deliveries;
  };
  const { id } = present((await read())[0]);
  const state = async () => (await sandbox.control(`GET deliveries/${id}`)).body;
  return { ...sandbox, url, got, endpointId, secret, id, read, state };
}

describe("POST deliveries/{id}", () => {
  test("/run-now makes the next attempt now", async () => {
    const { control, id, settle, state } = await delivered([500, 200]);
    const { status, body } = await control(`POST deliveries/${id}/run-now`);
    expect([status, body.id, body.state]).toEqual([202, id, "pending"]);
    await settle();
    expect(await state()).toMatchObject({
      state: "succeeded",
      attempts: [{ n: 1 }, { n: 2, trigger: "retry" }],
    });
  });

  test("/skip leaves an attempt out, and ends the delivery after the last one", async () => {
    const { control, id, got } = await delivered(500);
    const states: unknown[] = [];
    for (let n = 0; n < 4; n += 1) {
      const { body } = await control(`POST deliveries/${id}/skip`);
      states.push([body.state, body.next?.n, body.next?.of]);
    }
    expect(states).toEqual([
      ["pending", 2, 4],
      ["pending", 2, 3],
      ["pending", 2, 2],
      ["failed", undefined, undefined],
    ]);
    expect(got).toHaveLength(1);
  });

  test("/redeliver makes one more attempt with the same bytes and ids", async () => {
    const { control, id, settle, got } = await delivered([500, 200], {
      assumptions: { "A-04": { "send.sent": "email.sent" }, "A-09": "none" },
    });
    expect((await control(`POST deliveries/${id}/redeliver`)).status).toBe(202);
    await settle();
    expect(got.map(({ headers }) => headers["x-svc-attempt"])).toEqual(["1", "2"]);
    expect(got[1]?.body.equals(got[0]?.body ?? Buffer.alloc(0))).toBe(true);
  });

  test.each([
    ["redeliver", "A-17"],
    ["run-now", "No attempt is scheduled"],
    ["skip", "No attempt is scheduled"],
  ])("/%s is 409 for a delivery that succeeded", async (action, text) => {
    const { control, id } = await delivered([200]);
    const { status, body } = await control(`POST deliveries/${id}/${action}`);
    expect([status, body.error.code]).toEqual([409, "conflict"]);
    expect(body.error.message).toContain(text);
  });
});

describe("POST deliveries/{id}/send", () => {
  test("sends copies concurrently or in turn, whatever A-17 allows, with a mark", async () => {
    const { control, id, settle, got, state } = await delivered([200]);
    const { status, body } = await control(`POST deliveries/${id}/send`, {
      times: 3,
      concurrent: true,
    });
    expect([status, body.attempts, body.delivery.id]).toEqual([202, 3, id]);
    await settle();
    await control(`POST deliveries/${id}/send`);
    await settle();
    expect(got.map(({ headers }) => headers["x-svc-attempt"])).toEqual(["1", "2", "3", "4", "5"]);
    expect(new Set(got.map((one) => one.body.toString())).size).toBe(1);
    expect((await state()).attempts.map(({ trigger }: { trigger: string }) => trigger)).toEqual([
      "event",
      ...Array(4).fill("manual"),
    ]);
  });

  test.each([
    ["a text", "edited: é"],
    ["{text}", { text: "edited: é" }],
    ["{base64}", { base64: Buffer.from("edited: é").toString("base64") }],
  ])("sends an edited body (%s) as a new delivery, signed again", async (_form, edited) => {
    const { control, id, settle, got, secret, read, state } = await delivered([200]);
    const before = await state();
    const { status, body } = await control(`POST deliveries/${id}/send`, { body: edited });
    expect(status).toBe(202);
    await settle();
    expect(await state()).toEqual(before);
    const copy = (await control(`GET deliveries/${body.delivery.id}`)).body;
    expect(copy).toMatchObject({
      state: "succeeded",
      edited: true,
      call_id: before.call_id,
      source_event_id: before.source_event_id,
      attempts: [{ n: 1, trigger: "manual", status: 200 }],
    });
    expect(copy.event_id).not.toBe(before.event_id);
    expect(copy.delivery_id).toBe(copy.id);
    expect((await read()).map((one) => one.id)).toEqual([id, copy.id]);
    const [, arrived] = got;
    expect(arrived?.body.toString()).toBe("edited: é");
    expect(arrived?.headers["x-svc-event-id"]).toBe(copy.event_id);
    const signature = arrived?.headers["x-svc-signature"] ?? "";
    expect(await verify(arrived?.body ?? "", signature, secret)).toMatchObject({ ok: true });
  });

  test("never retries an edited delivery, nor continues it after a restart", async () => {
    const data = newFile();
    const first = await delivered([200, 500], { data });
    const { body } = await first.control(`POST deliveries/${first.id}/send`, { body: "edited" });
    await first.settle();
    await first.sandbox.clock.advance(200_000);
    const show = async ({ control }: Opened) =>
      (await control(`GET deliveries/${body.delivery.id}`)).body;
    expect(await show(first)).toMatchObject({ state: "failed", attempts: [{ status: 500 }] });
    await first.sandbox.close();
    const second = await open({ data });
    await second.sandbox.clock.advance(200_000);
    expect(await show(second)).toMatchObject({
      state: "failed",
      edited: true,
      attempts: [{ n: 1 }],
    });
    expect(first.got).toHaveLength(2);
  });

  const tampers: readonly (readonly [
    string,
    (body: Buffer, signature: string | undefined, genuine: string) => boolean,
  ])[] = [
    ["wrong_secret", (_body, signature, genuine) => signature !== genuine],
    ["flipped_byte", (_body, signature, genuine) => signature === genuine],
    ["missing_prefix", (_body, signature, genuine) => `sha256=${signature}` === genuine],
    ["missing_header", (_body, signature) => signature === undefined],
    ["duplicate_header", (_body, signature, genuine) => signature === `${genuine}, ${genuine}`],
    ["reserialized", (body, signature, genuine) => signature === genuine && body.includes("\n")],
  ];

  test.each(tampers)("sends %s, which its attempt names", async (tamper, isSo) => {
    const { control, id, settle, got, secret, state } = await delivered([200]);
    await control(`POST deliveries/${id}/send`, { tamper });
    await settle();
    const [first, second] = got;
    const genuine = hmac(first?.body ?? "", secret);
    const sent = second?.headers["x-svc-signature"];
    expect(isSo(second?.body ?? Buffer.alloc(0), sent, genuine)).toBe(true);
    const { signature, request } = (await control(`GET deliveries/${id}/attempts/2`)).body;
    const expected = hmac(second?.body ?? "", secret);
    expect(signature).toMatchObject({ verdict: "tampered", tamper, expected });
    expect(request.body.text).toBe(second?.body.toString());
    expect((await state()).attempts[1]).toMatchObject({ tamper });
  });

  test("sends the previous secret's signature after a rotation, and refuses it before one", async () => {
    const { control, id, settle, got, secret, endpointId } = await delivered([200]);
    const early = await control(`POST deliveries/${id}/send`, { tamper: "previous_secret" });
    expect([early.status, early.body.error.code]).toEqual([409, "conflict"]);
    await control(`POST endpoints/${endpointId}/rotate-secret`);
    await control(`POST deliveries/${id}/send`, { tamper: "previous_secret" });
    await settle();
    const [, arrived] = got;
    const signature = arrived?.headers["x-svc-signature"] ?? "";
    expect(await verify(arrived?.body ?? "", signature, secret)).toMatchObject({ ok: true });
  });

  test("sends nothing to an archived endpoint, and reserializes only JSON", async () => {
    const { control, id, endpointId, got } = await delivered([200]);
    const reserialized = { body: "no JSON", tamper: "reserialized" };
    expect((await control(`POST deliveries/${id}/send`, reserialized)).status).toBe(400);
    await control(`POST endpoints/${endpointId}/archive`);
    expect((await control(`POST deliveries/${id}/send`)).status).toBe(409);
    expect(got).toHaveLength(1);
  });
});

describe("POST deliveries/{id}/attempts/{n}/explain", () => {
  test("names a known mistake, says same of the right value and unknown of another one", async () => {
    const { control, id, got, secret } = await delivered(401);
    const [first] = got;
    const parsed = JSON.stringify(JSON.parse(first?.body.toString() ?? ""));
    const explain = async (value: string) =>
      (await control(`POST deliveries/${id}/attempts/1/explain`, { value })).body;
    expect(await explain(hmac(first?.body ?? "", secret))).toMatchObject({ verdict: "same" });
    expect(await explain(hmac(parsed, secret))).toMatchObject({
      verdict: "known_mistake",
      mistake: { id: "reserialized_json", cause: expect.any(String), fix: expect.any(String) },
      first_difference: { at: expect.any(Number) },
    });
    expect(await explain("sha256=00")).toMatchObject({
      verdict: "unknown",
      next_step: expect.stringContaining(` ${first?.body.length} bytes, with the SHA-256 `),
    });
  });

  test("recognizes the secret of another endpoint, also of an archived one", async () => {
    const { control, register, id, got, url } = await delivered(401);
    const other = await register(url);
    await control(`POST endpoints/${other.id}/archive`);
    const value = hmac(got[0]?.body ?? "", other.secret);
    const { body } = await control(`POST deliveries/${id}/attempts/1/explain`, { value });
    expect(body).toMatchObject({ verdict: "known_mistake", mistake: { id: "other_secret" } });
  });

  test("checks the old secret after a rotation, and names the new one for earlier attempts the same", async () => {
    const { control, id, endpointId, got, secret, settle } = await delivered(500);
    const { body: rotated } = await control(`POST endpoints/${endpointId}/rotate-secret`);
    await control(`POST deliveries/${id}/run-now`);
    await settle();
    const value = (key: string, n: number) => hmac(got[n - 1]?.body ?? "", key);
    const explain = async (n: number, key: string) =>
      (await control(`POST deliveries/${id}/attempts/${n}/explain`, { value: value(key, n) })).body;
    expect(await explain(2, secret)).toMatchObject({
      verdict: "known_mistake",
      mistake: { id: "old_secret" },
    });
    expect(await explain(2, rotated.secret)).toMatchObject({ verdict: "same" });
    expect(await explain(1, secret)).toMatchObject({ verdict: "same" });
    expect(await explain(1, rotated.secret)).toMatchObject({ verdict: "same" });
    const { signature } = (await control(`GET deliveries/${id}/attempts/1`)).body;
    expect(signature.secret_hint).toBe(`…${secret.slice(-4)}`);
  });

  test("computes with the decoded key under A-20=base64", async () => {
    const { control, id, got, secret } = await delivered(401, {
      assumptions: { "A-20": "base64", "A-04": { "send.sent": "email.sent" } },
    });
    const key = Buffer.from(secret.slice(6), "base64");
    const value = hmac(got[0]?.body ?? "", key);
    const path = `deliveries/${id}/attempts/1` as const;
    expect((await control(`POST ${path}/explain`, { value })).body.verdict).toBe("same");
    expect((await control(`GET ${path}`)).body.signature).toMatchObject({
      expected: value,
      header: value,
    });
  });
});

describe("POST test-email", () => {
  test("is accepted as by the interface, and appears in the timeline as a call", async () => {
    const sandbox = await open();
    const { status, body } = await sandbox.control("POST test-email", { subject: "Hello" });
    expect(status).toBe(202);
    expect(body).toMatchObject({ status: "accepted", subject: "Hello", from: "test@sandbox.test" });
    await sandbox.settle();
    expect((await sandbox.control("GET timeline")).body.data).toMatchObject([
      {
        method: "POST",
        path: "/_sandbox/test-email",
        status: 202,
        send: { id: body.send_id },
        events: [{}, {}],
      },
    ]);
    expect((await sandbox.call(`GET /v1/sends/${body.send_id}`)).body.status).toBe("delivered");
  });

  test.each([
    [{ scenario: "bounced" }, "bounced"],
    [{ to: "failed@example.test" }, "failed"],
    [{ to: ["a@b.test", "delayed@example.test"] }, "delayed"],
    [{}, "delivered"],
  ])("with %o ends as %s", async (request, expected) => {
    const sandbox = await open();
    const { body } = await sandbox.control("POST test-email", request);
    await sandbox.settle();
    expect((await sandbox.call(`GET /v1/sends/${body.send_id}`)).body.status).toBe(expected);
  });
});

describe("POST clock", () => {
  test("advances, goes to the next due item and names it, and changes the mode", async () => {
    const { control, id } = await delivered(500);
    const start = (await control("GET clock")).body;
    const next = await control("POST clock", { to: "next" });
    expect(next.status).toBe(200);
    expect(next.body).toMatchObject({
      mode: "manual",
      now: start.next_due,
      item: { kind: "attempt", id },
    });
    const { body } = await control("POST clock", { advance_ms: 5_000 });
    expect(Date.parse(body.now) - Date.parse(start.now)).toBe(6_000);
    expect(body).not.toHaveProperty("item");
    expect((await control("POST clock", { mode: "accelerated", speed: 100 })).body).toMatchObject({
      mode: "accelerated",
      speed: 100,
    });
  });

  test("adds an offset to a real clock", async () => {
    const { control } = await open({ clock: "real" });
    const { body } = await control("POST clock", { advance_ms: 60_000 });
    expect(body).toMatchObject({ mode: "real", offset_ms: 60_000 });
  });

  test("cannot leave the years that have four digits", async () => {
    const { control } = await open({ clock: { mode: "manual", start: Date.UTC(9999, 0) } });
    expect((await control("POST clock", { advance_ms: 10 * 365 * 86_400_000 })).status).toBe(400);
    expect((await control("GET overview")).status).toBe(200);
  });
});

describe("POST endpoints and domains", () => {
  test("registers an endpoint as the interface does, rotates its secret and archives it", async () => {
    const { control, call } = await open();
    const request = { url: "http://localhost:1/", event_types: ["email.sent"] };
    const { status, body } = await control("POST endpoints", request);
    expect([status, body.secret]).toEqual([201, expect.stringMatching(/^whsec_/)]);
    const id = body.webhook_endpoint.webhook_endpoint_id;
    const rotated = await control(`POST endpoints/${id}/rotate-secret`);
    expect([rotated.status, rotated.body.secret === body.secret]).toEqual([200, false]);
    expect((await control(`POST endpoints/${id}/archive`)).body.status).toBe("archived");
    expect((await control(`POST endpoints/${id}/rotate-secret`)).status).toBe(409);
    const refused = await control("POST endpoints", { ...request, url: "http://192.168.0.1/" });
    const same = await call("POST /v1/webhook-endpoints", {
      ...request,
      url: "http://192.168.0.1/",
    });
    expect([refused.status, refused.body.error.message]).toEqual([400, same.body.error.message]);
    expect(
      (await control("GET timeline")).body.data.map(({ path }: { path: string }) => path),
    ).toEqual(["/v1/webhook-endpoints"]);
  });

  test("archives without a body under A-22=204", async () => {
    const { control, endpoint } = await open({ assumptions: { "A-22": "204" } });
    const { id } = await endpoint("http://localhost:1/");
    const { status, text } = await control(`POST endpoints/${id}/archive`);
    expect([status, text]).toEqual([204, ""]);
  });

  test("verifies a domain, or forces the outcome, and raises the event below a call", async () => {
    const { control, call, settle } = await open();
    const { domain_id: id } = (await call("POST /v1/domains", { domain_name: "a.test" })).body;
    expect((await control(`POST domains/${id}/force`, { outcome: "failed" })).body.status).toBe(
      "failed",
    );
    expect((await control(`POST domains/${id}/verify`)).body.status).toBe("verified");
    await settle();
    expect((await control("GET timeline")).body.data).toMatchObject([
      { path: `/_sandbox/domains/${id}/verify`, events: [{ type: "domain.updated" }] },
      { path: `/_sandbox/domains/${id}/force`, events: [{ type: "domain.updated" }] },
      { path: "/v1/domains" },
    ]);
  });

  test("acts on what belongs to another account (A-23)", async () => {
    const { control, endpoint } = await open({ assumptions: { "A-23": "per-key" } });
    const { id } = await endpoint("http://localhost:1/");
    expect((await control(`POST endpoints/${id}/archive`)).body.status).toBe("archived");
  });
});

describe("POST faults", () => {
  test("orders failures of a route, shows who used them, and cancels the rest", async () => {
    const { control, send, call } = await open();
    const made = await control("POST faults", {
      target: "POST /v1/emails",
      kind: "status",
      times: 3,
      status: 429,
      retry_after: 7,
    });
    expect([made.status, made.body.left]).toEqual([201, 3]);
    const refused = await send();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    const [used] = (await control("GET timeline")).body.data;
    expect(used?.fault_id).toBe(made.body.id);
    expect((await control("GET faults")).body.data).toMatchObject([
      {
        id: made.body.id,
        left: 2,
        slots: [{ what: "status 429", used_by: used?.id }, { what: "status 429" }, {}],
      },
    ]);
    expect((await control(`POST faults/${made.body.id}/cancel`)).body).toMatchObject({
      left: 0,
      canceled: true,
    });
    expect((await send()).status).toBe(202);
    expect((await call("GET /v1/webhook-events")).status).toBe(200);
  });

  test("keeps at most 1,000 faults, and forgets the oldest finished one first", async () => {
    const { control, sandbox } = await open();
    const fault = { target: "POST /v1/emails", kind: "reset" };
    // This runs in process, because a thousand requests take seconds over HTTP.
    const add = async () => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(fault) };
      return sandbox.fetch(new Request("http://sandbox.test/_sandbox/faults", init));
    };
    const { id } = (await control("POST faults", fault)).body;
    for (let n = 1; n < 1_000; n += 1) await add();
    expect((await add()).status).toBe(409);
    await control(`POST faults/${id}/cancel`);
    expect((await add()).status).toBe(201);
    expect((await control("GET faults")).body.data).toHaveLength(1_000);
  });
});

describe("POST assumptions and reset", () => {
  test("selects another value, which a restart keeps", async () => {
    const data = newFile();
    const first = await open({ data });
    const { status, body } = await first.control("POST assumptions/A-06", { value: "reject" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: "A-06",
      setting: "domain.unverifiedFrom",
      value: "reject",
      default: "warn",
    });
    expect((await first.send()).status).toBe(400);
    await first.sandbox.close();
    const second = await open({ data });
    const list = (await second.control("GET assumptions")).body;
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual(
      Array.from({ length: 28 }, (_, n) => `A-${String(n + 1).padStart(2, "0")}`),
    );
    expect(list.data[5]?.value).toBe("reject");
  });

  test("can undo a limit (A-24) that is smaller than its own request", async () => {
    const { control } = await open();
    await control("POST assumptions/A-24", { value: "1B" });
    expect((await control("POST assumptions/A-24", { value: "1MiB" })).status).toBe(200);
  });

  test("removes everything, and restores the assumptions of the start", async () => {
    const data = newFile();
    const options = { data, assumptions: { "A-09": "none" } };
    const first = await open(options);
    await first.endpoint("http://localhost:1/");
    await first.send();
    await first.control("POST clock", { advance_ms: 3_600_000 });
    await first.control("POST assumptions/A-09", { value: "fast" });
    await first.control("POST assumptions/A-22", { value: "204" });
    const before = (await first.control("GET overview")).body;
    const { status, body } = await first.control("POST reset");
    expect([status, Object.keys(body)]).toEqual([200, ["epoch"]]);
    const empty = async ({ control }: Opened) => {
      const after = (await control("GET overview")).body;
      expect(after.counts).toMatchObject({ calls: 0, deliveries: 0, not_sent: 0 });
      expect((await control("GET endpoints")).body.data).toEqual([]);
      const { data: list } = (await control("GET assumptions")).body;
      expect([list[8]?.value, list[21]?.value]).toEqual(["none", "200"]);
      return after;
    };
    const after = await empty(first);
    expect(after.epoch).toBe(body.epoch);
    expect(after.epoch).not.toBe(before.epoch);
    expect(after.clock.now >= before.clock.now).toBe(true);
    await first.sandbox.close();
    const restarted = await empty(await open(options));
    expect(restarted.clock.now >= after.clock.now).toBe(true);
  });

  test("is what sandbox.reset() does", async () => {
    const { sandbox, control, send } = await open();
    await send();
    const { epoch } = (await control("GET overview")).body;
    sandbox.reset();
    const { body } = await control("GET overview");
    expect([body.counts.calls, body.epoch === epoch]).toEqual([0, false]);
  });
});

describe("every action", () => {
  const journalled: readonly (readonly [string, unknown, (body: Opened) => Promise<unknown>])[] = [
    [
      "POST test-email",
      {},
      async ({ control }) => (await control("GET overview")).body.counts.calls,
    ],
    [
      "POST faults",
      { target: "POST /v1/emails", kind: "reset" },
      async ({ control }) => (await control("GET faults")).body.data.length,
    ],
    [
      "POST assumptions/A-22",
      { value: "204" },
      async ({ control }) =>
        Number((await control("GET assumptions")).body.data[21]?.value === "204"),
    ],
    [
      "POST endpoints",
      { url: "http://localhost:1/", event_types: ["email.sent"] },
      async ({ control }) => (await control("GET endpoints")).body.data.length,
    ],
    [
      "POST clock",
      { mode: "accelerated" },
      async ({ control }) => Number((await control("GET clock")).body.mode === "accelerated"),
    ],
  ];

  test.each(journalled)("is in the file before its response: %s", async (route, body, count) => {
    const [file, copy] = [newFile(), newFile()];
    const first = await open({ data: file });
    expect((await first.control(route, body)).status).toBeLessThan(300);
    // These copies are what a killed process would leave.
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    const second = await open({ data: copy, clock: undefined });
    expect(await count(second)).toBe(1);
  });

  const refused = [
    ["deliveries/{id}/send", { times: 101 }, "times"],
    ["deliveries/{id}/send", { times: 0 }, "times"],
    ["deliveries/{id}/send", { times: 1.5 }, "times"],
    ["deliveries/{id}/send", { concurrent: "yes" }, "concurrent"],
    ["deliveries/{id}/send", { tamper: "other" }, "tamper"],
    ["deliveries/{id}/send", { body: 5 }, "body"],
    ["deliveries/{id}/send", { body: { base64: "*" } }, "body.base64"],
    ["deliveries/{id}/send", { once: true }, "body"],
    ["deliveries/{id}/attempts/1/explain", {}, "value"],
    ["test-email", { to: [] }, "to"],
    ["test-email", { to: "nobody" }, "to.0"],
    ["test-email", { subject: "x".repeat(301) }, "subject"],
    ["test-email", { scenario: "lost" }, "scenario"],
    ["clock", {}, "body"],
    ["clock", { advance_ms: -1 }, "advance_ms"],
    ["clock", { advance_ms: 1, to: "next" }, "body"],
    ["clock", { advance_ms: 10 * 365 * 86_400_000 + 1 }, "advance_ms"],
    ["clock", { to: "end" }, "to"],
    ["clock", { mode: "fast" }, "mode"],
    ["clock", { mode: "real", speed: 5 }, "speed"],
    ["endpoints", { url: "http://localhost:1/", event_types: [] }, "event_types"],
    ["domains/{domain}/force", { outcome: "perhaps" }, "outcome"],
    ["faults", { target: "POST /v1/emails/", kind: "reset" }, "target"],
    ["faults", { target: "GET /v1/sends/send_1", kind: "reset" }, "target"],
    ["faults", { target: "POST /v1/emails", kind: "duplicate" }, "kind"],
    ["faults", { target: "POST /v1/emails", kind: "reorder", times: 2 }, "kind"],
    ["faults", { target: "POST /v1/emails", kind: "drop" }, "kind"],
    ["faults", { target: "POST /v1/emails", kind: "mutate" }, "kind"],
    ["faults", { target: "POST /v1/emails", kind: "reorder" }, "times"],
    ["faults", { target: "POST /v1/emails", kind: "drop", result: "pending" }, "result"],
    ["faults", { target: "POST /v1/emails", kind: "mutate", sign_again: "yes" }, "sign_again"],
    ["faults", { target: "POST /v1/emails", kind: "other" }, "kind"],
    ["faults", { target: "POST /v1/emails", kind: "reset", times: 1_001 }, "times"],
    ["faults", { target: "POST /v1/emails", kind: "status", status: 200 }, "status"],
    ["faults", { target: "POST /v1/emails", kind: "status", status: 600 }, "status"],
    ["faults", { target: "POST /v1/emails", kind: "slow", delay_ms: 600_001 }, "delay_ms"],
    ["faults", { target: "POST /v1/emails", kind: "status", retry_after: -1 }, "retry_after"],
    ["assumptions/A-06", { value: "perhaps" }, "value"],
    ["assumptions/A-06", {}, "value"],
  ] as const;

  test("refuses what it cannot use with the member's name, and changes nothing", async () => {
    const { control, call, id } = await delivered(401);
    const { domain_id: domain } = (await call("POST /v1/domains", { domain_name: "a.test" })).body;
    const watched = async () => {
      const replies = ["faults", "endpoints", "domains", "assumptions", "clock"].map(
        async (name) => (await control(`GET ${name}`)).body,
      );
      return JSON.stringify(await Promise.all(replies));
    };
    const before = await watched();
    const found: unknown[] = [];
    for (const [route, body] of refused) {
      const path = route.replace("{id}", id).replace("{domain}", domain);
      const reply = await control(`POST ${path}`, body);
      found.push([reply.status, reply.body.error.code, reply.body.error.param, route, body]);
    }
    expect(found).toEqual(
      refused.map(([route, body, param]) => [400, "invalid_request", param, route, body]),
    );
    expect(await watched()).toBe(before);
  });

  test.each([
    "deliveries/dlv_x/run-now",
    "endpoints/we_x/archive",
    "domains/dom_x/verify",
    "faults/fault_x/cancel",
    "nothing",
  ])("is 404 for POST %s", async (path) => {
    const { control } = await open();
    expect((await control(`POST ${path}`)).status).toBe(404);
  });

  test.each([
    [
      "clock",
      { advance_msec: 1 },
      "body must not have the member advance_msec. The members are advance_ms, to, mode, speed.",
    ],
    ["clock", { advance_ms: 1.5 }, "advance_ms must be a whole number."],
    ["deliveries/dlv_1/send", { body: { base64: "!" } }, "body.base64 must be base64."],
  ])("states the fault of %s %o in a sentence", async (path, body, message) => {
    const { control } = await open();
    expect((await control(`POST ${path}`, body)).body.error.message).toBe(message);
  });

  test("is 404 for an endpoint or an assumption that does not exist", async () => {
    const { control } = await open();
    expect((await control("POST faults", { target: "we_x", kind: "reset" })).status).toBe(404);
    expect((await control("POST assumptions/A-99", { value: "x" })).status).toBe(404);
  });

  test.each([
    ["POST", "overview", "GET"],
    ["DELETE", "timeline", "GET"],
    ["GET", "reset", "POST"],
    ["PUT", "faults", "GET, POST"],
  ])("%s %s is 405, and Allow names the methods", async (method, path, allow) => {
    const { call } = await open();
    const { status, headers, body } = await call(`${method} /_sandbox/${path}`);
    expect([status, headers.get("allow")]).toEqual([405, allow]);
    expect(body.error).toMatchObject({
      code: "method_not_allowed",
      request_id: headers.get("x-request-id"),
    });
  });

  test.each([
    [{ "content-type": "text/plain" }, '{"mode": "real"}', 415],
    [{ "content-type": "application/x-www-form-urlencoded" }, "mode=real", 415],
    [{ "content-type": "application/json" }, "{", 400],
    [{ "content-type": "application/json" }, "null", 400],
    [{ "content-type": "application/json" }, `{"mode": "${"x".repeat(1_048_576)}"}`, 413],
  ])("with %o is refused", async (headers, body, expected) => {
    const { url } = await open({ assumptions: { "A-24": "1kB" } });
    const response = await fetch(`${url}/_sandbox/clock`, { method: "POST", headers, body });
    expect(response.status).toBe(expected);
    expect(await response.json()).toMatchObject({
      error: { request_id: expect.stringMatching(/^req_/) },
    });
  });

  test.each([
    ["flat", "application/json", { code: "not_found" }],
    ["problem", "application/problem+json", { code: "not_found", status: 404 }],
  ])("writes errors as A-11=%s", async (shape, type, expected) => {
    const { control } = await open({ assumptions: { "A-11": shape } });
    const { headers, body } = await control("GET calls/call_x");
    expect(headers.get("content-type")).toBe(type);
    expect(body).toMatchObject(expected);
  });

  test("needs no API key", async () => {
    const { url } = await open();
    expect((await fetch(`${url}/_sandbox/overview`)).status).toBe(200);
    expect((await fetch(`${url}/_sandbox/test-email`, { method: "POST" })).status).toBe(202);
  });
});
