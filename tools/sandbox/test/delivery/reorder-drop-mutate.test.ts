import { createReceiver } from "@svc-webhooks/core";
import { present } from "@svc-webhooks/kit/present";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, test } from "vitest";
import { hmac, newFile, open, receiver, type Opened, type Received } from "../support.js";

interface Body {
  readonly data: { readonly subject: string };
  readonly mutated?: boolean;
}

const bodyOf = ({ body }: Received) => JSON.parse(String(body)) as Body;

const subjectsOf = (got: readonly Received[]) => got.map((one) => bodyOf(one).data.subject);

async function sendAll(opened: Pick<Opened, "send" | "settle">, ...subjects: string[]) {
  for (const subject of subjects) await opened.send({ subject });
  await opened.settle();
}

/** A sandbox with a receiver of `email.sent`, and a fault of its endpoint. */
async function faulty(kind: string, more: object = {}, options: SandboxOptions = {}) {
  const opened = await open(options);
  const target = await receiver();
  const endpoint = await opened.register(target.url);
  const fault = await opened.fault(kind, { target: endpoint.id, ...more });
  return { ...opened, ...target, endpoint, fault };
}

/** Waits until the receiver has this many requests: a busy machine sends a batch slower than the clock waits. */
const arrived = ({ got }: { readonly got: readonly Received[] }, count: number) =>
  until(() => got.length >= count, "the batch has arrived");

describe("a fault of kind reorder", () => {
  test("releases a batch last first, once", async () => {
    const opened = await faulty("reorder", { times: 3 });
    await sendAll(opened, "a", "b");
    expect(opened.got).toEqual([]);
    const [finding] = (await opened.control("GET overview")).body.health;
    expect(finding?.happened).toMatch(/A fault applies to the next use of we_\w+: reorder\./);
    await sendAll(opened, "c");
    await arrived(opened, 3);
    await sendAll(opened, "d", "e");
    await arrived(opened, 5);
    expect(subjectsOf(opened.got).slice(0, 3)).toEqual(["c", "b", "a"]);
    expect(opened.got).toHaveLength(5);
    const { data } = (await opened.control("GET faults")).body;
    const deliveries = await opened.deliveries();
    expect(data[0]?.slots.map((slot) => slot.used_by)).toEqual(
      deliveries.slice(0, 3).map(({ id }) => id),
    );
    expect(deliveries.map(({ state, attempts }) => [state, attempts[0]?.fault_id])).toEqual([
      ...Array.from({ length: 3 }, () => ["succeeded", opened.fault.id]),
      ...Array.from({ length: 2 }, () => ["succeeded", undefined]),
    ]);
    expect(opened.clock.nextDue).toBeUndefined();
  });

  test("keeps the order of a batch that has more deliveries than run at the same time", async () => {
    const subjects = Array.from({ length: 25 }, (_, n) => `number ${n}`);
    const opened = await faulty("reorder", { times: 25 });
    await sendAll(opened, ...subjects);
    await arrived(opened, subjects.length);
    expect(subjectsOf(opened.got)).toEqual(subjects.toReversed());
  });

  test.for([
    ["its time has passed", ({ clock }) => clock.advance(30_000)],
    ["it is canceled", ({ control, fault }) => control(`POST faults/${fault.id}/cancel`)],
    [
      "one of its deliveries is run now",
      async ({ control, deliveries }) =>
        control(`POST deliveries/${(await deliveries())[0]?.id}/run-now`),
    ],
  ] satisfies [string, (opened: Awaited<ReturnType<typeof faulty>>) => Promise<unknown>][])(
    "releases a batch that is not full when %s",
    async ([, release]) => {
      const opened = await faulty("reorder", { times: 5, delay_ms: 30_000 });
      await sendAll(opened, "a", "b", "c");
      await opened.clock.advance(29_999);
      expect(opened.got).toEqual([]);
      await release(opened);
      await arrived(opened, 3);
      expect(subjectsOf(opened.got)).toEqual(["c", "b", "a"]);
      expect((await opened.control("GET faults")).body.data[0]?.left).toBe(0);
      await sendAll(opened, "d");
      await arrived(opened, 4);
      expect(subjectsOf(opened.got).at(-1)).toBe("d");
    },
  );

  test("holds its batch over a restart", async () => {
    const data = newFile();
    const first = await faulty("reorder", { times: 3 }, { data });
    await sendAll(first, "a", "b");
    await first.sandbox.close();
    const second = await open({ data });
    await sendAll(second);
    expect(first.got).toEqual([]);
    await sendAll(second, "c");
    await arrived(first, 3);
    expect(subjectsOf(first.got)).toEqual(["c", "b", "a"]);
  });

  test("continues after a restart in the middle of a batch", async () => {
    const data = newFile();
    const first = await open({ data });
    // The first request gets no response, so that the batch is not finished.
    const { url, got } = await receiver((response, n) => void (n > 1 && response.end()));
    const { id: target } = await first.register(url);
    await first.fault("reorder", { target, times: 3 });
    const sent = sendAll(first, "a", "b", "c");
    await until(() => got.length === 1, "the last one is sent");
    await first.sandbox.close();
    await sent.catch(() => {});
    const second = await open({ data });
    await second.settle();
    await arrived({ got }, 4);
    expect(subjectsOf(got).filter((subject) => subject !== "c")).toEqual(["b", "a"]);
    expect(subjectsOf(got).filter((subject) => subject === "c")).toHaveLength(2);
  });

  test("does not hold copies that are sent on request", async () => {
    const opened = await faulty("reorder", { times: 2 });
    await sendAll(opened, "a");
    const [delivery] = await opened.deliveries();
    await opened.control(`POST deliveries/${delivery?.id}/send`, {});
    await opened.settle();
    expect(subjectsOf(opened.got)).toEqual(["a"]);
    expect((await opened.control("GET faults")).body.data[0]?.left).toBe(1);
    // The copy was accepted, so the delivery is not sent again with its batch.
    await sendAll(opened, "b");
    expect(subjectsOf(opened.got)).toEqual(["a", "b"]);
  });

  test("does not hold a delivery that is skipped, or those of an archived endpoint", async () => {
    const opened = await faulty("reorder", { times: 4 });
    await sendAll(opened, "a", "b", "c");
    const [a] = await opened.deliveries();
    await opened.control(`POST deliveries/${a?.id}/skip`);
    await opened.control(`POST faults/${opened.fault.id}/cancel`);
    await opened.settle();
    expect(subjectsOf(opened.got)).toEqual(["c", "b"]);
    await opened.clock.advance(100_000);
    expect(subjectsOf(opened.got)).toEqual(["c", "b", "a"]);

    await opened.control("POST faults", { target: opened.endpoint.id, kind: "reorder", times: 2 });
    await sendAll(opened, "d");
    await opened.call(`DELETE /v1/webhook-endpoints/${opened.endpoint.id}`);
    await opened.clock.advance(100_000);
    expect(opened.got).toHaveLength(3);
    expect((await opened.events()).at(-1)).toMatchObject({ status: "failed", attempts: 0 });
  });
});

describe("a fault of kind drop", () => {
  test("gives a delivery up without sending it, so that it has to be requested again", async () => {
    const opened = await faulty("drop");
    await sendAll(opened, "a");
    expect(opened.clock.nextDue).toBeUndefined();
    expect(opened.got).toEqual([]);
    const [event] = await opened.events();
    expect(event).toMatchObject({ status: "failed", attempts: 1, next_attempt_at: null });
    expect((await opened.deliveries())[0]?.attempts).toMatchObject([
      { ok: false, error: "dropped", fault_id: opened.fault.id },
    ]);
    const reply = await opened.call(`POST /v1/webhook-events/${event?.event_id}:redeliver`);
    await opened.settle();
    expect([reply.status, subjectsOf(opened.got)]).toEqual([202, ["a"]]);
    expect((await opened.events())[0]?.status).toBe("succeeded");
  });

  test.each([["redeliver"], ["send"]])(
    "ends the retries of a delivery that meets it by %s",
    async (action) => {
      const opened = await faulty("status");
      await sendAll(opened, "a");
      expect(opened.clock.nextDue).toBeDefined();
      await opened.control("POST faults", { target: opened.endpoint.id, kind: "drop", times: 1 });
      const [delivery] = await opened.deliveries();
      await opened.control(`POST deliveries/${delivery?.id}/${action}`, {});
      await opened.settle();
      expect(opened.clock.nextDue).toBeUndefined();
      expect((await opened.events())[0]).toMatchObject({ status: "failed", next_attempt_at: null });
      expect(opened.got).toEqual([]);
      // A later attempt can still succeed.
      await opened.control(`POST deliveries/${delivery?.id}/${action}`, {});
      await opened.settle();
      expect([(await opened.events())[0]?.status, opened.got.length]).toEqual(["succeeded", 1]);
    },
  );

  test("can be shown as succeeded, so that it cannot be requested again", async () => {
    const opened = await faulty("drop", { result: "succeeded" });
    await sendAll(opened, "a");
    const [event] = await opened.events();
    expect(event).toMatchObject({ status: "succeeded", attempts: 1 });
    const reply = await opened.call(`POST /v1/webhook-events/${event?.event_id}:redeliver`);
    expect([reply.status, opened.got]).toEqual([409, []]);
    expect((await opened.deliveries())[0]?.attempts).toMatchObject([{ ok: true, status: 200 }]);
  });
});

describe("a fault of kind mutate", () => {
  const signatureOf = ({ headers }: Received) => headers["x-svc-signature"] ?? "";

  test("changes the body after it is signed, once", async () => {
    const opened = await faulty("mutate");
    await sendAll(opened, "a", "b");
    const [changed, genuine] = opened.got.map((one) => [
      signatureOf(one) === hmac(one.body, opened.endpoint.secret),
      one.body.length,
    ]);
    expect([changed?.[0], genuine?.[0]]).toEqual([false, true]);
    const [delivery] = await opened.deliveries();
    const shown = (await opened.control(`GET deliveries/${delivery?.id}/attempts/1`)).body;
    expect(shown).toMatchObject({
      fault_id: opened.fault.id,
      tamper: "flipped_byte",
      signature: { verdict: "tampered" },
    });
  });

  test("can change the body before it is signed", async () => {
    const opened = await faulty("mutate", { sign_again: true });
    await sendAll(opened, "a", "b");
    expect(opened.got.map((one) => [bodyOf(one).data.subject, bodyOf(one).mutated])).toEqual([
      ["a", true],
      ["b", undefined],
    ]);
    for (const one of opened.got)
      expect(signatureOf(one)).toBe(hmac(one.body, opened.endpoint.secret));
    const [first] = await opened.deliveries();
    const shown = (await opened.control(`GET deliveries/${first?.id}/attempts/1`)).body;
    expect(shown.signature).toMatchObject({
      verdict: "correct",
      expected: signatureOf(present(opened.got[0])),
      secret_hint: `…${opened.endpoint.secret.slice(-4)}`,
    });
    expect([shown.mutated, shown.request.body.bytes]).toEqual([true, opened.got[0]?.body.length]);
  });

  test.for([
    ["null", "null\n"],
    ["[{}]", "[{}]\n"],
    ["{}", '{"mutated": true}'],
    ['{"a": {}}', '{"a": {}, "mutated": true}'],
  ] as const)("changes the body %s into %s", async ([body, changed]) => {
    const shape = () => JSON.parse(body) as unknown;
    const opened = await faulty(
      "mutate",
      { sign_again: true },
      { assumptions: { "A-07": shape, "A-25": "spaced" } },
    );
    await sendAll(opened, "a");
    expect(opened.got.map((one) => String(one.body))).toEqual([changed]);
  });
});

describe("a log and a receiver that differ", () => {
  /** The ids of deliveries in the log by status, without those that were handled. */
  async function unhandled(opened: Opened, handled: ReadonlySet<string>) {
    const events = (await opened.events()).filter((event) => !handled.has(event.delivery_id));
    return (status: string) => events.filter((event) => event.status === status);
  }

  test("can be produced on request: missing, lost, and silence after the endpoint was archived", async () => {
    const opened = await open({ assumptions: { "A-06": "allow" } });
    const { id: target, secret } = await opened.register("http://localhost:1/webhooks");
    const handled = new Set<string>();
    const on = {
      "*": (_event: unknown, { deliveryId }: { deliveryId: string }) =>
        void handled.add(deliveryId),
    };
    const { fetch } = createReceiver({ secret, on, log: () => {} });
    opened.sandbox.deliverTo(fetch);

    await opened.fault("drop", { target, times: 4 });
    await opened.fault("drop", { target, times: 3, result: "succeeded" });
    // Each attempt of one delivery.
    await opened.fault("mutate", { target, times: 5 });
    for (let n = 0; n < 8; n += 1) await sendAll(opened, `number ${n}`);
    await opened.clock.advance(100_000);
    await sendAll(opened, ...Array.from({ length: 10 }, (_, n) => `number ${n + 8}`));

    const status = await unhandled(opened, handled);
    const missing = status("failed");
    expect([missing.length, status("succeeded").length, handled.size]).toEqual([5, 3, 10]);
    for (const { event_id: id } of missing) {
      const reply = await opened.call(`POST /v1/webhook-events/${id}:redeliver`);
      expect(reply.status).toBe(202);
    }
    await opened.settle();
    const after = await unhandled(opened, handled);
    expect([after("failed").length, after("succeeded").length, handled.size]).toEqual([0, 3, 15]);

    await opened.control(`POST endpoints/${target}/archive`);
    await opened.clock.advance(7 * 86_400_000);
    await sendAll(opened, "after the endpoint was archived");
    const newest = present((await opened.events()).at(-1));
    expect(opened.clock.now() - Date.parse(newest.created_at)).toBeGreaterThan(6 * 86_400_000);
    expect((await opened.sourceEvents()).at(-2)?.not_sent).toBe("archived");
    expect((await opened.control("GET endpoints")).body.data).toMatchObject([
      { webhook_endpoint_id: target, status: "archived" },
    ]);
  });
});
