import { present } from "@svc-webhooks/kit/present";
import { copyFileSync, existsSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { until } from "@svc-webhooks/kit/until";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { sqliteJournal } from "../../src/state/sqlite-journal.js";
import { createState } from "../../src/state/state.js";
import { email, hmac, impatient, newFile, open, receiver, type Opened } from "../support.js";

/** Copies the file as a kill at this moment would leave it. */
function copyOf(file: string): string {
  const copy = newFile();
  for (const suffix of ["", "-wal"])
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
  return copy;
}

/** Opens another sandbox that continues where a kill would stop this one, with the saved clock. */
const killed = (file: string, options: SandboxOptions = {}) =>
  open({ clock: undefined, data: copyOf(file), ...options });

const attemptsOf = async ({ deliveries }: Opened) =>
  (await deliveries()).map(({ attempts }) => attempts.map(({ n, trigger }) => [n, trigger]));

const counts = async ({ control }: Opened) => (await control("GET overview")).body.counts;

describe("after a kill, the next process", () => {
  test("makes the pending retries at their times, with the same bytes and the next numbers", async () => {
    const data = newFile();
    const first = await open({ data });
    const { url, got, values } = await receiver(500);
    const { secret } = await first.register(url);
    await first.send();
    await first.clock.advance(1_000);
    const next = Date.parse(present((await first.deliveries())[0]).next.at);

    const second = await killed(data);
    expect(second.clock.mode).toBe("manual");
    expect([second.clock.nextDue, second.clock.now()]).toEqual([next, next - 5_000]);
    await second.clock.advance(4_999);
    expect(got.length).toBe(2);
    await second.clock.advance(1);
    expect(values("x-svc-attempt")).toEqual(["1", "2", "3"]);
    expect(new Set(got.map(({ body }) => body.toString())).size).toBe(1);
    expect(values("x-svc-signature")).toEqual(got.map(({ body }) => hmac(body, secret)));
    expect(await attemptsOf(second)).toEqual([
      [
        [1, "event"],
        [2, "retry"],
        [3, "retry"],
      ],
    ]);
  });

  test("makes an attempt again that was running", async () => {
    const data = newFile();
    const first = await open({ data, clock: impatient });
    const { url, got } = await receiver((response, n) => void (n > 1 && response.end()));
    await first.register(url);
    await first.send();
    await first.clock.advance(0);
    const second = await killed(data);
    await second.clock.advance(0);
    expect(got.map(({ headers }) => headers["x-svc-attempt"])).toEqual(["1", "2"]);
    expect((await second.deliveries())[0]?.state).toBe("succeeded");
  });

  test("sends nothing to an endpoint that was archived during the attempt", async () => {
    const data = newFile();
    const first = await open({ data, clock: impatient });
    const { url, got } = await receiver(() => {});
    const { id } = await first.register(url);
    await first.send();
    await first.clock.advance(0);
    await first.call(`DELETE /v1/webhook-endpoints/${id}`);
    const second = await killed(data);
    await second.clock.advance(100_000);
    expect([got.length, (await second.deliveries())[0]?.state]).toEqual([1, "failed"]);
  });

  test("continues a send on its course, and knows keys, secrets, faults and assumptions", async () => {
    const data = newFile();
    const first = await open({ data, assumptions: { "A-06": "allow" } });
    const { url, values, got } = await receiver();
    const { id } = await first.register(url, "email.delivered");
    const key = { "idempotency-key": "kept" };
    const { body } = await first.send({ to: ["delayed@mail.test"] }, key);
    await first.clock.advance(0);
    await first.fault("status", { target: id, status: 503 });
    await first.control("POST assumptions/A-09", { value: "2s" });
    const rotated = await first.call(`POST /v1/webhook-endpoints/${id}:rotate-secret`);

    const second = await killed(data, { assumptions: { "A-06": "allow" } });
    expect((await second.send({ to: ["delayed@mail.test"] }, key)).body).toEqual(body);
    await second.clock.advance(60_000);
    const delivery = async () => present((await second.deliveries())[0]);
    expect((await delivery()).attempts).toMatchObject([{ status: 503 }]);
    await second.clock.advance(2_000);
    expect(values("x-svc-signature")).toEqual(
      got.map((received) => hmac(received.body, rotated.body.secret)),
    );
    expect([got.length, (await delivery()).state]).toEqual([1, "succeeded"]);
  });

  test("prefers the assumptions and the clock that it is started with", async () => {
    const data = newFile();
    const first = await open({ data });
    await first.clock.advance(3_600_000);
    await first.control("POST assumptions/A-06", { value: "allow" });
    const second = await killed(data, { clock: "real", assumptions: { "A-06": "reject" } });
    expect((await second.send()).status).toBe(400);
    expect([second.clock.mode, second.clock.now() >= first.clock.now()]).toEqual(["real", true]);
  });

  test("repeats no id of a seeded one, nor after a reset", async () => {
    const data = newFile();
    const idOf = async ({ send }: Opened) => (await send()).body.send_id;
    const ids = [await idOf(await open({ data, seed: 7 }))];
    const copy = copyOf(data);
    const second = await open({ clock: undefined, data: copy, seed: 7 });
    ids.push(await idOf(second));
    expect(await second.sends()).toEqual(ids);
    second.sandbox.reset();
    ids.push(await idOf(await killed(copy, { seed: 7 })));
    expect(new Set(ids).size).toBe(3);
  });

  test("repeats no id and no secret of an earlier start with another seed", async () => {
    const data = newFile();
    const used = async (seed: number) => {
      const opened = await open({ clock: undefined, data, seed });
      const made = await opened.register("http://localhost:3001/");
      const ids = [made.id, made.secret, (await opened.send()).body.send_id];
      const kept = (await opened.control("GET endpoints")).body.data.length;
      await opened.sandbox.close();
      return { ids, kept };
    };
    const starts = [await used(5), await used(4), await used(3)];
    expect(new Set(starts.flatMap(({ ids }) => ids)).size).toBe(9);
    expect(starts.map(({ kept }) => kept)).toEqual([1, 2, 3]);
  });

  test("repeats the ids of a seed in a new file", async () => {
    const idOf = async (options: SandboxOptions) =>
      (await (await open({ seed: 7, ...options })).send()).body.send_id;
    expect(await idOf({ data: newFile() })).toBe(await idOf({}));
  });

  const ages: Readonly<Record<string, (data: string) => unknown>> = {
    "after it was stopped": async () => {},
    "after it was killed": (data) => {
      // A kill leaves the clock as it was saved at the start.
      const database = new DatabaseSync(data);
      const start = `json_set(value, '$.value.now', json_extract(value, '$.value.now') - 7200000)`;
      database.exec(`UPDATE record SET value = ${start} WHERE id = 'clock'`);
      database.close();
    },
  };

  test.each(Object.entries(ages))(
    "starts no earlier than its newest record %s, if the machine's clock was set back",
    async (how, age) => {
      const data = newFile();
      const first = await open({ clock: "real", data });
      await first.clock.advance(3_600_000);
      await first.send();
      await until(async () => (await first.sourceEvents()).length === 2, "both events are raised");
      const newest = Math.max(...(await first.sourceEvents()).map(({ at }) => Date.parse(at)));
      const stopped = first.clock.now();
      await first.sandbox.close();
      await age(data);
      const database = new DatabaseSync(data);
      // The machine's clock is behind the one that was saved.
      const wall = `json_set(value, '$.value.wall', json_extract(value, '$.value.wall') + 7200000)`;
      database.exec(`UPDATE record SET value = ${wall} WHERE id = 'clock'`);
      database.close();
      const second = await open({ clock: undefined, data });
      const [now, call] = [second.clock.now(), (await second.calls())[0]];
      expect(now).toBeGreaterThanOrEqual(how === "after it was stopped" ? stopped : newest);
      expect(now).toBeLessThan(stopped + 600_000);
      expect(present(call).at <= new Date(now).toISOString()).toBe(true);
    },
  );

  test("shows a call that was running as one without a response", async () => {
    const data = newFile();
    const first = await open({ data });
    await first.fault("slow");
    const sent = first.send();
    await until(() => first.clock.nextDue !== undefined, "the request waits");
    await first.settle();
    const second = await killed(data);
    const [call] = await second.calls();
    expect([call?.status, await second.sends()]).toEqual([503, []]);
    await first.clock.advance(1_000);
    expect((await sent).status).toBe(202);
  });

  test("finds, at each moment, every send that was accepted exactly once", async () => {
    const data = newFile();
    const first = await open({ data });
    const { url } = await receiver((response) =>
      response.writeHead(response.req.headers["x-svc-attempt"] === "1" ? 500 : 200).end(),
    );
    await first.register(url, "email.sent", "email.delivered");
    const answered: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      answered.push((await first.send()).body.send_id);
      const at = copyOf(data);
      await first.clock.advance(300);
      for (const file of [at, copyOf(data)]) {
        const second = await open({ clock: undefined, data: file });
        expect(await second.sends()).toEqual(answered);
        await second.clock.advance(100_000);
        const types: string[] = (await second.calls()).flatMap(({ send, events }) =>
          events.map(({ type }) => `${send.id} ${type}`),
        );
        expect(types.toSorted()).toEqual(
          answered.flatMap((id) => [`${id} email.delivered`, `${id} email.sent`]).toSorted(),
        );
        const { succeeded, deliveries } = await counts(second);
        expect([succeeded, deliveries]).toEqual([types.length, types.length]);
        await second.sandbox.close();
      }
    }
  });
});

describe("the data file", () => {
  test("is not written after close, by a request that ends later", async () => {
    const data = newFile();
    const opened = await open({ data });
    await opened.fault("slow");
    const request = new Request(`${opened.url}/v1/emails`, {
      method: "POST",
      headers: {
        authorization: "Bearer a",
        "idempotency-key": "a",
        "content-type": "application/json",
      },
      body: "{}",
    });
    const reply = opened.sandbox.fetch(request);
    await opened.sandbox.close();
    await opened.sandbox.close();
    expect((await reply).status).toBe(400);
    await new Promise((resolve) => setImmediate(resolve));
    expect(opened.lines).toEqual([]);
  });

  test("that cannot be written fails the commit, is reported once, and a later commit writes both", () => {
    const file = newFile();
    const reported: unknown[] = [];
    const onError = (error: unknown) => void reported.push(error);
    const first = createState({ journal: sqliteJournal(file), onError });
    first.settings.put({ id: "a", value: 1 });
    // JSON cannot represent a BigInt.
    first.settings.put({ id: "x", value: 1n });
    for (let n = 0; n < 2; n += 1) {
      expect(() => first.commit()).toThrow("The data file could not be written.");
    }
    expect(reported.map(String)).toEqual([expect.stringContaining("BigInt")]);
    first.settings.put({ id: "x", value: 2 });
    first.commit();
    first.close();
    const second = createState({ journal: sqliteJournal(file) });
    onTestFinished(() => second.close());
    expect(Array.from(second.settings.all())).toEqual([
      { id: "a", value: 1 },
      { id: "x", value: 2 },
    ]);
  });
});

describe("retention", () => {
  /** Sends emails in process instead of over sockets, because there are many. */
  async function sendMany(opened: Opened, count: number, changes: object = {}) {
    const statuses = new Map<number, number>();
    for (let n = 0; n < count; n += 1) {
      const { status } = await opened.sandbox.fetch(
        new Request(`${opened.url}/v1/emails`, {
          method: "POST",
          headers: {
            authorization: "Bearer a",
            "idempotency-key": `many-${n}`,
            "content-type": "application/json",
          },
          body: JSON.stringify({ ...email, ...changes }),
        }),
      );
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (n % 20 === 0) await opened.clock.advance(1);
    }
    return Object.fromEntries(statuses);
  }
  const limits = { maxDeliveries: 200, assumptions: { "A-06": "allow" } };
  const sizes = async (opened: Opened) => {
    const { calls, deliveries } = await counts(opened);
    const [sends, events] = [await opened.sends(), await opened.sourceEvents()];
    return [calls, deliveries, sends.length, events.length] as number[];
  };

  test("keeps the newest of many sends, and their keys", async () => {
    const opened = await open(limits);
    opened.sandbox.deliverTo(() => new Response());
    await opened.register("http://127.0.0.1:9");
    const key = { "idempotency-key": "first" };
    const { body } = await opened.send({}, key);
    expect(await sendMany(opened, 800)).toEqual({ 202: 800 });
    expect(Math.max(...(await sizes(opened)))).toBeLessThanOrEqual(500);
    const newest = (await opened.calls()).at(-1);
    expect(newest?.idempotency_key).toBe("many-799");
    expect((await opened.call(`GET /v1/sends/${body.send_id}`)).status).toBe(404);
    // The key's call and send are gone, but the email must not be sent again.
    expect((await opened.send({}, key)).body).toEqual(body);
  });

  test("drops what the bytes of requests and mails exceed", async () => {
    const opened = await open({ ...limits, maxBytes: 1_048_576 });
    await sendMany(opened, 200, { text: "x".repeat(50_000) });
    const { length } = await opened.sends();
    expect(length).toBeLessThanOrEqual(60);
    expect(length).toBeGreaterThan(10);
  });

  test("never drops what waits, and refuses sends when too much does", async () => {
    const opened = await open({ ...limits, maxDeliveries: 20 });
    opened.sandbox.deliverTo(() => new Response("", { status: 500 }));
    const { id } = await opened.register("http://127.0.0.1:9");
    const first = await opened.send({}, { "idempotency-key": "waiting" });
    // The replay is finished although the first call is not.
    await opened.send({}, { "idempotency-key": "waiting" });
    const statuses = await sendMany(opened, 300);
    expect(Object.keys(statuses)).toEqual(["202", "503"]);
    const { status, body, headers } = await opened.send();
    expect([status, body.error.code, headers.get("retry-after")]).toEqual([
      503,
      "too_many_pending",
      "5",
    ]);
    expect((await opened.call(`GET /v1/sends/${first.body.send_id}`)).status).toBe(200);
    expect((await counts(opened)).deliveries).toBe(
      statuses["202"] === undefined ? 0 : statuses["202"] + 1,
    );
    const created = await opened.call("POST /v1/domains", { domain_name: "a.test" });
    const verify = `POST /v1/domains/${created.body.domain_id}:verify`;
    expect((await opened.call(verify)).body.error.code).toBe("too_many_pending");
    await opened.call(`DELETE /v1/webhook-endpoints/${id}`);
    await opened.clock.advance(1);
    expect((await opened.send()).status).toBe(202);
  });

  test("drops calls that caused nothing before it drops a send", async () => {
    const opened = await open(limits);
    const { body } = await opened.send();
    await opened.clock.advance(0);
    for (let n = 0; n < 600; n += 1) {
      await opened.sandbox.fetch(new Request(`${opened.url}/v1/nothing-${n}`));
      if (n % 20 === 0) await opened.clock.advance(0);
    }
    expect((await counts(opened)).calls).toBeLessThanOrEqual(400);
    expect((await opened.call(`GET /v1/sends/${body.send_id}`)).status).toBe(200);
  });

  test("counts the paths, headers and recipients of calls and sends", async () => {
    const opened = await open({ ...limits, maxDeliveries: 10_000, maxBytes: 1_048_576 });
    for (let n = 0; n < 400; n += 1) {
      const headers = { "x-long": "h".repeat(5_000) };
      const url = `${opened.url}/v1/nothing?${"q".repeat(5_000)}`;
      await opened.sandbox.fetch(new Request(url, { headers }));
      if (n % 20 === 0) await opened.clock.advance(0);
    }
    expect((await counts(opened)).calls).toBeLessThanOrEqual(310);
    const to = Array<string>(2_000).fill("ada@example.test");
    await sendMany(opened, 200, { to });
    expect((await opened.sends()).length).toBeLessThanOrEqual(60);
  });

  test("drops calls whose response a fault has dropped", async () => {
    const opened = await open(limits);
    await opened.fault("reset", { times: 1_000 });
    for (let n = 0; n < 1_000; n += 1) await opened.send().catch(() => {});
    expect((await counts(opened)).calls).toBeLessThanOrEqual(400);
  });
});
