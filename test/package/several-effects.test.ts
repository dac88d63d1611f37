import { pathToFileURL } from "node:url";
import {
  createReceiver,
  memoryStore,
  type DeliveryStore,
  type Handler,
  type Receiver,
} from "@svc-webhooks/core";
import { defineInbox, type Inbox } from "@svc-webhooks/core/inbox";
import { present } from "@svc-webhooks/kit/present";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { webhooks } from "@svc-webhooks/node";
import { fakeClock, fixture, signedDelivery } from "@svc-webhooks/testing";
import { memoryInbox } from "@svc-webhooks/testing/inbox";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { codeBlocks, compileBlocks } from "./readme.js";

/** The module that the page shows. */
interface Page {
  readonly eachOf: (receivers: readonly Receiver[]) => Pick<Receiver, "receive">;
  readonly receiverPerEffect: (options: {
    readonly store: DeliveryStore;
    readonly inboxOf: (effect: string) => Inbox;
    readonly effects: Readonly<Record<string, Handler>>;
  }) => Map<string, Receiver>;
}

const block = present(
  codeBlocks("docs/recipes.md").find(({ code }) => code.includes("export function eachOf")),
);
const { modulePath } = await compileBlocks([block]);
const { eachOf, receiverPerEffect } = (await import(pathToFileURL(modulePath(block)).href)) as Page;

const secret = "whsec_test";
beforeEach(() => {
  vi.stubEnv("SVC_WEBHOOK_SECRET", secret);
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockReturnValue();
  return () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  };
});

const names = ["mail", "crm"] as const;
type Name = (typeof names)[number];

/** Two queues and a store, which outlive processes. */
function world() {
  const clock = fakeClock();
  const inboxes = {
    mail: memoryInbox({ clock, retry: { limit: 3 } }),
    crm: memoryInbox({ clock, retry: { limit: 3 } }),
  };
  const store = memoryStore({ clock });
  const done: string[] = [];
  const effectOf =
    (name: Name): Handler =>
    (_event, { idempotencyKey }) =>
      void done.push(`${name} ${idempotencyKey}`);

  /** Starts a process, with other inboxes or effects if it is to crash. */
  function start({
    inboxOf = (name) => inboxes[name],
    effects = {},
    store: used = store,
  }: {
    readonly store?: DeliveryStore;
    readonly inboxOf?: (name: Name) => Inbox;
    readonly effects?: Partial<Record<Name, Handler>>;
  } = {}) {
    const receivers = receiverPerEffect({
      store: used,
      inboxOf: (effect) => inboxOf(effect as Name),
      effects: { mail: effects.mail ?? effectOf("mail"), crm: effects.crm ?? effectOf("crm") },
    });
    return {
      receivers,
      receiver: eachOf([...receivers.values()]),
      work: (name: Name) => inboxes[name].run(present(receivers.get(name))),
    };
  }
  return {
    clock,
    inboxes,
    store,
    done,
    start,
    effectOf,
    effects: () =>
      done.map((one) => one.split(" ")[0] ?? "").toSorted((a, b) => a.localeCompare(b)),
    waiting: () => names.map((name) => inboxes[name].jobs().length),
  };
}

/** A promise that never settles: the process has crashed. */
const crashed = () => new Promise<never>(() => {});

/** An inbox whose process crashes while it stores a job, or whose queue is unreachable. */
const crashing = (error?: Error) =>
  defineInbox(async () => {
    if (error) throw error;
    await crashed();
  });

/** Returns the store as a process uses it: no call reaches it once the process is dead. */
function mortal(store: DeliveryStore) {
  let isDead = false;
  const unlessDead =
    <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
    (...args: Args) =>
      isDead ? crashed() : call(...args);
  return {
    kill: () => (isDead = true),
    store: {
      ...store,
      claim: unlessDead((...args: Parameters<DeliveryStore["claim"]>) => store.claim(...args)),
      complete: unlessDead((...args: Parameters<DeliveryStore["complete"]>) =>
        store.complete(...args),
      ),
      release: unlessDead((...args: Parameters<DeliveryStore["release"]>) =>
        store.release(...args),
      ),
      extend: unlessDead((...args: Parameters<DeliveryStore["extend"]>) => store.extend(...args)),
    },
  };
}

const delivery = await signedDelivery(fixture("email.delivered"), { secret });

describe("an inbox handler for each effect", () => {
  test("stores a job for each effect, and runs each once", async () => {
    const { start, waiting, effects, done } = world();
    const { receiver, work } = start();
    expect((await receiver.receive(delivery)).code).toBe("enqueued");
    expect((await receiver.receive(delivery)).code).toBe("enqueued");
    expect(waiting()).toEqual([1, 1]);
    for (const name of names) await work(name);
    for (const name of names) await work(name);
    expect([effects(), waiting()]).toEqual([
      ["crm", "mail"],
      [0, 0],
    ]);
    // The keys differ, so an API that both effects call does not confuse them.
    expect(new Set(done.map((one) => one.split(" ")[1])).size).toBe(2);
  });

  test("a crash between the two jobs loses and repeats neither effect", async () => {
    const { start, inboxes, waiting, effects } = world();
    const dying = start({
      // The handler's own job is never stored, and the sender gets no response.
      inboxOf: (name) => (name === "mail" ? inboxes.mail : crashing()),
    });
    void dying.receiver.receive(delivery);
    await until(() => waiting()[0] === 1, "the first job is stored");
    expect(waiting()).toEqual([1, 0]);
    // Its worker was faster than the retry.
    const { receiver, work } = start();
    await work("mail");
    expect((await receiver.receive(delivery)).status).toBe(200);
    for (const name of names) await work(name);
    expect([effects(), waiting()]).toEqual([
      ["crm", "mail"],
      [0, 0],
    ]);
  });

  test.each(names)("is refused while the queue of %s cannot be reached", async (unreachable) => {
    const { start, waiting, inboxes, effects } = world();
    const failing = start({
      inboxOf: (name) =>
        name === unreachable ? crashing(new Error("unreachable")) : inboxes[name],
    });
    expect(await failing.receiver.receive(delivery)).toMatchObject({
      code: "queue_unavailable",
      status: 503,
    });
    const { receiver, work } = start();
    expect((await receiver.receive(delivery)).status).toBe(200);
    expect(waiting()).toEqual([1, 1]);
    for (const name of names) await work(name);
    expect(effects()).toEqual(["crm", "mail"]);
  });

  test("a crash between the two effects repeats neither", async () => {
    const { start, effects, waiting } = world();
    const first = start();
    await first.receiver.receive(delivery);
    await first.work("mail");
    const second = start();
    for (const name of names) await second.work(name);
    expect([effects(), waiting()]).toEqual([
      ["crm", "mail"],
      [0, 0],
    ]);
  });

  test("a crash during an effect repeats only that one, with the same key", async () => {
    const { clock, inboxes, store, start, effectOf, done } = world();
    const { kill, store: dying } = mortal(store);
    const first = start({
      store: dying,
      effects: {
        crm: async (event, context) => {
          await effectOf("crm")(event, context);
          await crashed();
        },
      },
    });
    await first.receiver.receive(delivery);
    await first.work("mail");
    const worker = await inboxes.crm.work(present(first.receivers.get("crm")));
    await until(() => done.length === 2, "the effect has happened");
    kill();
    await worker.stop({ deadlineMs: 0 });
    // The lease of the dead run ends.
    await clock.advance(30_000);
    const second = start();
    for (const name of names) await second.work(name);
    expect(done.map((one) => one.split(" ")[0])).toEqual(["mail", "crm", "crm"]);
    expect(new Set(done).size).toBe(2);
  });

  test("an effect that fails becomes a dead letter, and the other one is not affected", async () => {
    const { clock, inboxes, start, effects } = world();
    const { receiver, work } = start({
      effects: {
        mail: () => {
          throw new Error("the mail server is down");
        },
      },
    });
    await receiver.receive(delivery);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      for (const name of names) await work(name);
      await clock.advance(600_000);
    }
    expect(effects()).toEqual(["crm"]);
    expect(inboxes.mail.jobs()).toMatchObject([{ state: "dead", attempts: 3 }]);
    expect(inboxes.crm.jobs()).toEqual([]);
    // After the fix, only the failed effect runs.
    const fixed = start();
    await inboxes.mail.admin.retry(present(inboxes.mail.jobs()[0]).id);
    for (const name of names) await fixed.work(name);
    expect(effects()).toEqual(["crm", "mail"]);
  });
});

describe("eachOf", () => {
  const on = (run: Handler) => ({ "email.delivered": run });

  test("reads the body of a request once, and retries only what is not done", async () => {
    const runs: string[] = [];
    const store = memoryStore();
    const mail = createReceiver({
      name: "mail",
      secret,
      store,
      on: on(() => void runs.push("mail")),
    });
    const crm = createReceiver({
      name: "crm",
      secret,
      store,
      on: on(() => {
        runs.push("crm");
        if (runs.length === 2) throw new Error("the CRM is down");
      }),
    });
    const port = await listen(webhooks(eachOf([mail, crm])));
    const send = async ({ headers, body }: typeof delivery) =>
      (await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body })).status;
    expect([await send(delivery), runs]).toEqual([500, ["mail", "crm"]]);
    expect([await send(delivery), runs]).toEqual([200, ["mail", "crm", "crm"]]);
    expect([await send(delivery), runs.length]).toEqual([200, 3]);
    const forged = { ...delivery, body: new Uint8Array(delivery.body).fill(0x20) };
    expect([await send(forged), runs.length]).toEqual([401, 3]);
  });

  test("needs at least one receiver", () => {
    expect(() => eachOf([])).toThrow("at least one receiver");
  });
});
