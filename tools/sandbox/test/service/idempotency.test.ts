import { until } from "@svc-webhooks/kit/until";
import { describe, expect, test } from "vitest";
import { email, open, type Opened } from "../support.js";

const key = { "idempotency-key": "one" };
const sends = async (opened: Opened) => (await opened.sends()).length;

describe("an idempotency key", () => {
  test("returns the same response for the same request, however its JSON is written", async () => {
    const opened = await open();
    const first = await opened.send({}, key);
    const { text, html, subject, to, from } = email;
    const rewritten = JSON.stringify(
      { text, html, message_class: "transactional", subject, to, from },
      null,
      2,
    );
    const second = await opened.call("POST /v1/emails", rewritten, key);
    expect([second.status, second.body]).toEqual([202, first.body]);
    expect(await sends(opened)).toBe(1);
  });

  test("is refused for another body, and nothing is sent", async () => {
    const opened = await open();
    await opened.send({}, key);
    const { status, body } = await opened.send({ subject: "Other" }, key);
    expect([status, body.error.code, body.error.param]).toEqual([
      409,
      "idempotency_conflict",
      "Idempotency-Key",
    ]);
    expect(await sends(opened)).toBe(1);
  });

  test("is in use while its first request runs", async () => {
    const opened = await open();
    await opened.fault("slow", { delay_ms: 1_000 });
    const first = opened.send({}, key);
    await until(() => opened.clock.nextDue !== undefined, "the first request waits");
    const same = await opened.send({}, key);
    expect([same.status, same.body.error.code, same.headers.get("retry-after")]).toEqual([
      409,
      "idempotency_in_progress",
      "1",
    ]);
    const other = await opened.send({ subject: "Other" }, key);
    expect([other.status, other.body.error.code]).toEqual([409, "idempotency_conflict"]);
    await opened.clock.advance(1_000);
    const { body } = await first;
    expect((await opened.send({}, key)).body).toEqual(body);
    expect(await sends(opened)).toBe(1);
  });

  test("makes one send of many concurrent requests", async () => {
    const opened = await open();
    const replies = await Promise.all(Array.from({ length: 20 }, () => opened.send({}, key)));
    const accepted = replies.filter(({ status }) => status === 202);
    expect(accepted.length).toBeGreaterThan(0);
    expect(new Set(accepted.map(({ body }) => body.send_id)).size).toBe(1);
    expect(await sends(opened)).toBe(1);
  });

  test("is free again after a refused request", async () => {
    const opened = await open({ assumptions: { "A-06": "reject" } });
    expect((await opened.send({}, key)).status).toBe(400);
    await opened.control("POST assumptions/A-06", { value: "allow" });
    expect((await opened.send({ subject: "Other" }, key)).status).toBe(202);
  });

  test("belongs to an API key", async () => {
    const opened = await open();
    await opened.send({}, key);
    const reply = await opened.send(
      { subject: "Other" },
      { ...key, authorization: "Bearer other" },
    );
    expect([reply.status, await sends(opened)]).toEqual([202, 2]);
  });

  test("is forgotten after 24 hours", async () => {
    const opened = await open();
    await opened.send({}, key);
    await opened.clock.advance(24 * 3_600_000 - 1);
    await opened.send({}, key);
    expect(await sends(opened)).toBe(1);
    await opened.clock.advance(1);
    expect((await opened.send({ subject: "Other" }, key)).status).toBe(202);
    expect(await sends(opened)).toBe(2);
  });
});
