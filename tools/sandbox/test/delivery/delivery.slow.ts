import { present } from "@svc-webhooks/kit/present";
import { createHash } from "node:crypto";
import { DatabaseSync } from "@photostructure/sqlite";
import { gate } from "@svc-webhooks/kit/gate";
import { until } from "@svc-webhooks/kit/until";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../src/delivery/engine.js";
import type { EndpointRecord } from "../../src/state/records.js";
import { sqliteJournal } from "../../src/state/sqlite-journal.js";
import type { StateOptions } from "../../src/state/state.js";
import type { Delivery } from "@svc-webhooks/kit/sandbox-responses";
import {
  hmac,
  impatient,
  newFile,
  open,
  receiver,
  type Opened,
  type Receiver,
  type Respond,
} from "../support.js";
import { newWorld } from "../world.js";

const attemptsPerEndpoint = 10;

/** Opens a sandbox, and a receiver that responds when a gate opens. */
async function holding(status = 200) {
  const held = gate();
  const run = await open({ clock: impatient });
  const target = await receiver(
    (response) => void held.opened.then(() => response.writeHead(status).end()),
  );
  return { run, held, ...target };
}

const only = async ({ deliveries }: Opened): Promise<Delivery> => {
  const all = await deliveries();
  expect(all).toHaveLength(1);
  return present(all[0]);
};

/** Performs an action of the control routes on a delivery. Returns the status, with the message if it is an error. */
const act = async (opened: Opened, action: string, id?: string): Promise<string | number> => {
  const path = `POST deliveries/${id ?? (await only(opened)).id}/${action}`;
  const { status, body } = await opened.control(path);
  return body.error ? `${status} ${body.error.message}` : status;
};

const redeliver = async (opened: Opened) => {
  const { event_id: id } = present((await opened.events())[0]);
  const { status, body } = await opened.call(`POST /v1/webhook-events/${id}:redeliver`);
  return body.error ? `${status} ${body.error.message}` : status;
};

/** Performs two actions in one turn of the event loop, so that the second finds the first one's attempt waiting. */
async function inOneTurn(opened: Opened, ...actions: readonly string[]): Promise<void> {
  const { id } = await only(opened);
  const replies = actions.map((action) =>
    opened.sandbox.fetch(
      new Request(`http://sandbox.test/_sandbox/deliveries/${id}/${action}`, { method: "POST" }),
    ),
  );
  expect((await Promise.all(replies)).map(({ status }) => status)).not.toContain(409);
}

const dueAt = async (opened: Opened) => Date.parse((await only(opened)).next?.at);
const stateOf = async (opened: Opened) => (await only(opened)).state as string;

const archive = ({ call }: Opened, id: string) => call(`DELETE /v1/webhook-endpoints/${id}`);

/** Opens a sandbox with one delivery to a receiver, and makes the attempts that are due now. */
async function delivered(
  respond: Respond,
  assumptions: Record<string, unknown> = {},
  options: SandboxOptions = {},
): Promise<Opened & Receiver & { readonly id: string; readonly secret: string }> {
  const opened = await open({ assumptions, ...options });
  const receiving = await receiver(respond, { clock: opened.clock });
  const endpoint = await opened.register(receiving.url);
  await opened.send();
  await opened.clock.advance(0);
  return { ...opened, ...receiving, ...endpoint, url: opened.url };
}

const outline = async (opened: Opened) => {
  const { state, attempts } = await only(opened);
  return [state, ...attempts.map(({ n, trigger, status, error }) => [n, trigger, status ?? error])];
};

describe("the schedule", () => {
  test("makes each attempt at its millisecond, numbered, with the same bytes", async () => {
    const run = await delivered(500);
    const [first] = run.got;
    const start = first?.at ?? 0;
    await run.clock.advance(20_999);
    expect(run.got.map(({ at }) => at - start)).toEqual([0, 1_000, 6_000]);
    await run.clock.advance(1);
    await run.clock.advance(60_000);
    expect(run.got.map(({ at }) => at - start)).toEqual([0, 1_000, 6_000, 21_000, 81_000]);
    expect(run.values("x-svc-attempt")).toEqual(["1", "2", "3", "4", "5"]);
    await redeliver(run);
    await run.clock.advance(0);
    const digests = run.got.map(({ body }) => createHash("sha256").update(body).digest("hex"));
    expect([digests.length, new Set(digests).size]).toEqual([6, 1]);
    expect(run.values("x-svc-signature")).toEqual(
      run.got.map(({ body }) => hmac(body, run.secret)),
    );
  });

  test("keeps the order of due times across endpoints", async () => {
    const { clock, register, send } = await open({ assumptions: { "A-09": "1s,1s" } });
    const receivers = [await receiver(500, { clock }), await receiver(500, { clock })];
    for (const { url } of receivers) await register(url);
    for (let n = 0; n < 5; n += 1) {
      await send();
      await clock.advance(100);
    }
    const start = clock.now() - 500;
    await clock.advance(3_000);
    for (const { got } of receivers) {
      expect(got.map(({ at }) => at - start)).toEqual(
        [0, 1_000, 2_000].flatMap((base) => [0, 100, 200, 300, 400].map((more) => base + more)),
      );
    }
  });

  test("makes at most ten attempts of an endpoint at a time, and none of another one wait", async () => {
    const { clock, register, send } = await open();
    const held = gate();
    let [running, most] = [0, 0];
    const slow = await receiver((response) => {
      running += 1;
      most = Math.max(most, running);
      void held.opened.then(() => {
        running -= 1;
        return response.end();
      });
    });
    const quick = await receiver();
    await register(slow.url);
    await register(quick.url);
    for (let n = 0; n < 25; n += 1) await send();
    const settled = clock.advance(0);
    await until(() => quick.got.length === 25, "the quick receiver has everything");
    expect([running, slow.got.length]).toEqual([attemptsPerEndpoint, attemptsPerEndpoint]);
    held.open();
    await settled;
    await until(() => slow.got.length === 25, "the slow receiver has everything");
    expect(most).toBe(attemptsPerEndpoint);
  });
});

describe("a receiver", () => {
  const garbage: Respond = (response) => response.socket?.end("this is not HTTP\r\n\r\n");
  test.for([
    ["closes the connection", (response) => response.destroy(), "reset"],
    ["responds with garbage", garbage, "protocol"],
    ["responds with 1 MB", (response) => response.end("x".repeat(1_000_000)), 200],
    ["does not respond", () => {}, "timeout"],
  ] as const satisfies [string, Respond, unknown][])(
    "that %s leaves a finished attempt",
    async ([, respond, seen]) => {
      const options = seen === "timeout" ? { clock: impatient } : {};
      const run = await delivered(respond, { "A-09": "none" }, options);
      await run.clock.advance(15_000);
      expect(await outline(run)).toEqual([
        seen === 200 ? "succeeded" : "failed",
        [1, "event", seen],
      ]);
    },
  );

  test("reads no more of a handler's response than it keeps, and stops at the time limit", async () => {
    const run = await open({ clock: impatient, assumptions: { "A-09": "none" } });
    await run.register("http://127.0.0.1:9");
    const bodies: { pulled: number; canceled: boolean }[] = [];
    const endless = (chunk: number) => () => {
      const seen = { pulled: 0, canceled: false };
      bodies.push(seen);
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          seen.pulled += 1;
          if (chunk > 0) controller.enqueue(new Uint8Array(chunk));
        },
        cancel() {
          seen.canceled = true;
        },
      });
      return new Response(body);
    };
    run.sandbox.deliverTo(endless(50_000));
    await run.send();
    await run.clock.advance(0);
    run.sandbox.deliverTo(endless(0));
    await run.send();
    await run.clock.advance(15_000);
    expect(bodies.map(({ canceled }) => canceled)).toEqual([true, true]);
    expect(bodies[0]?.pulled).toBeLessThan(5);
    const events = await run.events();
    expect(events.map(({ status }) => status)).toEqual(["succeeded", "failed"]);
  });

  test("in this process that throws leaves a failed attempt", async () => {
    const run = await open({ assumptions: { "A-09": "none" } });
    run.sandbox.deliverTo(() => {
      throw new Error("handler");
    });
    await run.register("http://127.0.0.1:9");
    await run.send();
    await run.clock.advance(0);
    expect(await outline(run)).toEqual(["failed", [1, "event", "reset"]]);
    const { body } = await run.control(`GET deliveries/${(await only(run)).id}/attempts/1`);
    expect(body.error.text).toContain("handler");
  });

  test("that responds with 1 MB has its response cut and marked", async () => {
    const run = await delivered((response) => response.end("x".repeat(1_000_000)));
    const path = `GET deliveries/${(await only(run)).id}/attempts/1?full=true` as const;
    const { response } = (await run.control(path)).body;
    expect(response.body).toMatchObject({ shown: 65_536, truncated: true });
  });
});

describe("redeliver", () => {
  test("is refused before the first attempt and while one runs", async () => {
    const { run, held, url, got } = await holding();
    await run.register(url);
    await run.send();
    await run.clock.advance(0);
    expect(await redeliver(run)).toBe("409 An attempt for this delivery is already running.");
    held.open();
    await until(async () => (await stateOf(run)) === "succeeded", "the attempt has ended");
    expect(await redeliver(run)).toMatch(/^409 .*\(A-17\), but the last attempt succeeded/);
    expect(got.length).toBe(1);
    const full = await open({ clock: impatient });
    await full.register((await receiver(() => {})).url);
    for (let n = 0; n < 11; n += 1) await full.send();
    await full.settle();
    const { id } = present((await full.deliveries()).at(-1));
    expect(await act(full, "redeliver", id)).toMatch(
      /^409 .*\(A-17\), and this delivery has not been attempted yet/,
    );
  });

  test("while a retry waits makes one attempt more, and the schedule continues", async () => {
    const run = await delivered([500, 500, 500, 500], { "A-09": "10s,20s" });
    const start = run.clock.now();
    await run.clock.advance(4_000);
    await inOneTurn(run, "redeliver", "redeliver");
    await run.clock.advance(0);
    expect(await dueAt(run)).toBe(start + 10_000);
    await run.clock.advance(6_000);
    expect(await dueAt(run)).toBe(start + 30_000);
    // The time that an earlier redelivery remembered must not be used again.
    expect(await redeliver(run)).toBe(202);
    await run.clock.advance(100_000);
    expect(run.got.map(({ at }) => at - start)).toEqual([0, 4_000, 10_000, 10_000, 30_000]);
    expect(await outline(run)).toEqual([
      "succeeded",
      [1, "event", 500],
      [2, "redeliver", 500],
      [3, "retry", 500],
      [4, "redeliver", 500],
      [5, "retry", 200],
    ]);
  });

  test("of a failed delivery makes one attempt, and none if the endpoint is archived", async () => {
    const run = await delivered(500, { "A-09": "none" });
    await inOneTurn(run, "redeliver", "redeliver");
    await run.clock.advance(100_000);
    expect(await outline(run)).toEqual(["failed", [1, "event", 500], [2, "redeliver", 500]]);
    await archive(run, run.id);
    expect(await redeliver(run)).toBe(
      "409 The endpoint is archived, so nothing is delivered to it.",
    );
  });

  test("ends the schedule if its attempt gets a stop code", async () => {
    const run = await delivered([500, 410], { "A-10": "stop:410" });
    await redeliver(run);
    await run.clock.advance(100_000);
    expect([run.got.length, await stateOf(run)]).toEqual([2, "failed"]);
  });
});

describe("run now and skip", () => {
  test("run now makes the waiting attempt once, however often it is requested", async () => {
    const run = await delivered([500]);
    await inOneTurn(run, "run-now", "run-now");
    await run.clock.advance(0);
    expect(await outline(run)).toEqual(["succeeded", [1, "event", 500], [2, "retry", 200]]);
    expect(await act(run, "run-now")).toMatch(/No attempt is scheduled/);
    expect(run.clock.nextDue).toBeUndefined();
  });

  test("skip leaves attempts out to the end of the schedule", async () => {
    const run = await delivered(500);
    const start = run.clock.now();
    const waits: unknown[] = [];
    for (let n = 0; n < 4; n += 1) {
      waits.push((await dueAt(run)) - start);
      await act(run, "skip");
    }
    expect(waits).toEqual([1_000, 6_000, 21_000, 81_000]);
    expect(await outline(run)).toEqual(["failed", [1, "event", 500]]);
    expect(await act(run, "skip")).toMatch(/No attempt is scheduled/);
    await run.clock.advance(100_000);
    expect(run.got.length).toBe(1);
  });

  test("skip reaches an attempt that is due and waits for one of the ten places", async () => {
    const { run, held, url, got } = await holding();
    await run.register(url);
    for (let n = 0; n < 11; n += 1) await run.send();
    await run.clock.advance(0);
    await until(() => got.length === 10, "ten requests have arrived");
    const last = async () => present((await run.deliveries()).at(-1));
    await act(run, "skip", (await last()).id);
    held.open();
    await run.clock.advance(999);
    expect([got.length, (await last()).state]).toEqual([10, "pending"]);
    await run.clock.advance(1);
    expect([got.length, (await last()).state]).toEqual([11, "succeeded"]);
  });

  test("skip of a redelivery returns to the schedule, or to the result that it had", async () => {
    const run = await delivered([500, 200], { "A-17": "any" });
    const retryAt = await dueAt(run);
    await inOneTurn(run, "redeliver", "skip");
    expect([await stateOf(run), await dueAt(run)]).toEqual(["pending", retryAt]);
    await run.clock.advance(1_000);
    await inOneTurn(run, "redeliver", "skip");
    expect([await stateOf(run), run.got.length]).toEqual(["succeeded", 2]);
  });
});

test("a delivery keeps its last 1,000 attempts, and counts the older ones", async () => {
  const data = newFile();
  const first = await open({ data });
  first.sandbox.deliverTo(() => new Response("", { status: 500 }));
  await first.register("http://localhost:9/");
  await first.send();
  await first.settle();
  const { id } = await only(first);
  for (let n = 0; n < 11; n += 1) {
    const copies = { times: n < 10 ? 100 : 2, concurrent: true };
    expect((await first.control(`POST deliveries/${id}/send`, copies)).status).toBe(202);
    await first.settle();
  }
  const check = async ({ control, events, url }: Opened) => {
    const { attempts, dropped_attempts } = (await control(`GET deliveries/${id}`)).body;
    expect([attempts.length, attempts[0]?.n, attempts.at(-1)?.n, dropped_attempts]).toEqual([
      1_000, 4, 1_003, 3,
    ]);
    expect((await events())[0]?.attempts).toBe(1_003);
    const gone = await control(`GET deliveries/${id}/attempts/3`);
    expect([gone.status, gone.body.error.message]).toEqual([
      404,
      "This delivery has attempts 4 to 1003.",
    ]);
    for (const n of [4, 1_003])
      expect((await control(`GET deliveries/${id}/attempts/${n}`)).body.n).toBe(n);
    const page = async (query: string) =>
      (await fetch(`${url}/?item=${id}${query}`, { headers: { accept: "text/html" } })).text();
    for (const query of ["", "&from=1", "&attempt=3"]) {
      const html = await page(query);
      expect(html).toContain("3 older attempts are not kept");
      expect(html).toContain(query === "&from=1" ? ">950 later<" : ">950 earlier<");
    }
  };
  await check(first);
  await first.sandbox.close();
  await check(await open({ clock: undefined, data }));
});

describe("a due time after the year 9999", () => {
  const lists = ["/v1/webhook-events", "/", "/_sandbox/timeline", "/_sandbox/overview"];
  const statuses = ({ url }: Opened) =>
    Promise.all(
      lists.map(async (path) => {
        const headers = { authorization: "Bearer a", accept: "text/html" };
        return (await fetch(url + path, { headers })).status;
      }),
    );
  const next = async (opened: Opened) => (await only(opened)).next.at;
  const last = "9999-12-31T00:00:00.000Z";

  test("is its last day, whatever date a Retry-After has", async () => {
    const options = { data: newFile(), assumptions: { "A-10": "honorRetryAfter" } };
    const opened = await open(options);
    // The latest date that JavaScript can represent.
    const headers = { "retry-after": "Sat, 13 Sep 275760 00:00:00 GMT" };
    const { url } = await receiver((response) => response.writeHead(503, headers).end());
    await opened.register(url);
    await opened.send();
    await opened.settle();
    expect([await next(opened), await statuses(opened)]).toEqual([last, [200, 200, 200, 200]]);
    expect(await act(opened, "skip")).toBe(202);
    expect([await next(opened), await statuses(opened)]).toEqual([last, [200, 200, 200, 200]]);
  });

  test("in a data file is its last day too", async () => {
    const data = newFile();
    const first = await open({ data });
    const { url } = await receiver(503);
    await first.register(url);
    await first.send();
    await first.settle();
    await first.sandbox.close();
    const database = new DatabaseSync(data);
    const set = "json_set(value, '$.nextAttemptAt', 8640000000005000)";
    database.exec(`UPDATE record SET value = ${set} WHERE kind = 'delivery'`);
    const time = "json_set(value, '$.at', 8640000000005000)";
    database.exec(`UPDATE record SET value = ${time} WHERE kind = 'event'`);
    database.close();
    const second = await open({ clock: undefined, data });
    expect([await next(second), await statuses(second)]).toEqual([last, [200, 200, 200, 200]]);
  });
});

describe("archiving", () => {
  test("cancels a waiting retry", async () => {
    const run = await delivered(500);
    await archive(run, run.id);
    expect([await stateOf(run), run.clock.nextDue]).toEqual(["failed", undefined]);
  });

  test("during an attempt lets it end, and no retry follows", async () => {
    const { run, held, url, got } = await holding(500);
    const { id } = await run.register(url);
    await run.send();
    await run.clock.advance(0);
    await archive(run, id);
    held.open();
    await until(async () => (await stateOf(run)) === "failed", "the attempt has ended");
    await run.clock.advance(100_000);
    expect([got.length, (await only(run)).attempts.length]).toEqual([1, 1]);
  });

  test("drops what is waiting for one of the ten places", async () => {
    const { run, held, url, got } = await holding();
    const { id } = await run.register(url);
    for (let n = 0; n < 15; n += 1) await run.send();
    await run.clock.advance(0);
    await archive(run, id);
    held.open();
    const states = async () => (await run.deliveries()).map(({ state }) => state as string);
    await until(async () => !(await states()).includes("attempting"), "the attempts have ended");
    await run.clock.advance(100_000);
    expect(got.length).toBe(10);
    expect((await states()).filter((state) => state === "failed").length).toBe(5);
  });
});

test("a rotation in the middle of the retries signs the next attempts with the new secret", async () => {
  const run = await delivered(500);
  const { body } = await run.call(`POST /v1/webhook-endpoints/${run.id}:rotate-secret`);
  await run.clock.advance(6_000);
  const keys = [run.secret, body.secret, body.secret];
  expect(run.values("x-svc-signature")).toEqual(
    run.got.map((received, index) => hmac(received.body, keys[index] ?? "")),
  );
});

/** Creates an engine with a delivery whose first attempt received a 500. */
async function engineWith(body: string, options?: StateOptions) {
  const world = newWorld(options);
  const response = { status: 500, headers: [], body: new Uint8Array(), bytes: 0, truncated: false };
  const engine = createEngine(world, async () => ({ response }));
  const base = { account: "default", createdAt: 0 };
  world.state.endpoints.put({
    ...base,
    id: "we_1",
    url: "http://127.0.0.1:9/",
    eventTypes: ["email.sent"],
    subscriptions: {},
    status: "active",
    secret: "whsec_0",
  });
  const delivery = world.state.deliveries.put({
    ...base,
    id: "dlv_1",
    seq: 1,
    callId: "call_1",
    eventId: "evt_1",
    sourceEventId: "src_1",
    endpointId: "we_1",
    subscriptionId: "sub_1",
    type: "email.sent",
    deliveryId: "dlv_1",
    state: "pending",
    nextAttemptAt: 0,
    trigger: "event",
    retries: 0,
    attempt: 0,
    body: Buffer.from(body),
    attempts: [],
  });
  engine.start(delivery);
  await world.clock.advance(0);
  return { ...world, engine, delivery };
}

test("an order that cannot be written leaves the delivery and its next attempt as they were", async () => {
  const journal = sqliteJournal(newFile());
  let isFull = false;
  const { engine, delivery, clock, state } = await engineWith("{}", {
    journal: {
      ...journal,
      write(changes) {
        if (isFull) throw new Error("The disk is full.");
        journal.write(changes);
      },
    },
    onTakenBack: () => engine.takenBack(delivery),
  });
  onTestFinished(() => state.close());
  state.commit();
  const before = { ...structuredClone(delivery), body: delivery.body };
  for (const order of [
    () => engine.runNow(delivery),
    () => engine.redeliver(delivery),
    () => engine.skip(delivery),
    () => engine.cancel({ id: "we_1" } as EndpointRecord),
  ]) {
    isFull = true;
    expect(() => state.transaction(order)).toThrow("could not be written");
    isFull = false;
    expect(state.deliveries.get("dlv_1")).toBe(delivery);
    expect([delivery, clock.nextDue]).toEqual([before, 1_000]);
  }
  await clock.advance(1_000);
  expect(delivery.attempts.map(({ trigger }) => trigger)).toEqual(["event", "retry"]);
});

describe("an error in the sandbox", () => {
  test("while a request is built is a failed attempt with its reason", async () => {
    const { engine, delivery, clock } = await engineWith("not JSON");
    engine.sendManually(delivery, { times: 1, concurrent: false, tamper: "reserialized" });
    await clock.advance(0);
    expect(delivery.attempts).toMatchObject([
      { attempt: 1, trigger: "event", response: { status: 500 } },
      { attempt: 2, trigger: "manual", error: { kind: "protocol" } },
    ]);
    expect(delivery.attempts[1]?.error?.text).toContain("JSON");
  });

  test("while an attempt is recorded is reported, and the delivery does not stay attempting", async () => {
    const { state, delivery, clock, lines } = await engineWith("{}");
    Object.assign(state, {
      addAttempt() {
        throw new Error("no record");
      },
    });
    await clock.advance(1_000);
    expect(delivery.state).toBe("failed");
    expect(lines.at(-1)).toMatch(/^dlv_1: .*: no record$/);
  });
});

test("a reset during attempts ends them and leaves nothing that is due", async () => {
  const run = await open({ clock: impatient });
  const { url, got } = await receiver(() => {});
  await run.register(url);
  for (let n = 0; n < 12; n += 1) await run.send({ to: ["delayed@mail.test"] });
  await run.clock.advance(0);
  await until(() => got.length === 10, "ten requests have arrived");
  run.sandbox.reset();
  await run.clock.advance(0);
  expect([run.clock.nextDue, await run.deliveries()]).toEqual([undefined, []]);
  const fresh = await receiver();
  await run.register(fresh.url);
  await run.send();
  await run.clock.advance(100_000);
  expect([got.length, fresh.got.length]).toEqual([10, 1]);
  expect(run.lines.filter((line) => !line.includes("A-06"))).toEqual([]);
});
