import type { CompleteResult, Outcome, OutcomeCode, ReceiverOptions } from "@svc-webhooks/core";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";
import { expect, test as plainTest, type TestContext } from "vitest";
import { eventBody, signed } from "../support/deliveries.js";
import { observedReceiver, type ObservedReceiver } from "../support/receivers.js";
import { redisServer, type RedisServer } from "../support/redis-server.js";
import type { ClientKind, TestClient } from "./faults-clients.js";
import { tcpProxy, type Fault, type TcpProxy } from "./tcp-proxy.js";

/** How a delivery was answered. */
export interface Answered {
  readonly code: OutcomeCode;
  readonly status: number;
  readonly warnings: Outcome["warnings"];
  readonly ms: number;
  /** In the time of `performance.now()`. */
  readonly at: number;
}

/** A receiver with a Redis, a proxy between them, and a sender in front of it. */
export interface Bench extends ObservedReceiver {
  readonly server: RedisServer;
  /** Starts the server again after its end. */
  readonly restart: () => Promise<void>;
  readonly proxy: TcpProxy;
  readonly client: TestClient;
  /** Ends a fault that has cost the client its connection, and waits until it has another. */
  readonly heal: () => Promise<void>;
  /** The id of each event to which the handler's effects were applied, as often as they were. */
  readonly applied: readonly string[];
  /** `<id> <run>` for each start of a handler. */
  readonly runs: readonly string[];
  /** The record's key by the event's id, of each event that was run. */
  readonly keys: ReadonlyMap<string, string>;
  /** What the store answered, also to those who waited no more. */
  readonly completions: readonly CompleteResult[];
  readonly extensions: readonly boolean[];
  /** One attempt. */
  readonly deliver: (id: string) => Promise<Answered>;
  /** One attempt for each, all at once. */
  readonly deliverAll: (ids: readonly string[]) => Promise<readonly Answered[]>;
  /** Attempts until one is answered 2xx, as the service makes them but sooner; the codes of all. */
  readonly insist: (id: string) => Promise<readonly OutcomeCode[]>;
  readonly insistAll: (ids: readonly string[]) => Promise<void>;
  /** Straight to the server, whatever the proxy does. */
  readonly admin: Redis;
  /** How many records are in which state, by its first letter. */
  readonly states: () => Promise<Readonly<Record<string, number>>>;
  /** What was answered 2xx was applied, and each of these was answered 2xx. */
  readonly expectNothingLost: (ids: readonly string[]) => void;
}

export interface BenchOptions extends Partial<ReceiverOptions> {
  readonly kind: ClientKind;
  /** Options of the server. */
  readonly redis?: readonly string[];
  /** Or servers that are there already: one, or the nodes of a cluster, which no proxy can stand before. */
  readonly servers?: readonly RedisServer[];
  /** What happens within a run before its effects are applied. */
  readonly during?: (id: string, run: number) => unknown;
  /** The network is like that before the client is made. */
  readonly faultAtStart?: Fault;
}

const benchTest = plainTest.extend<{ bench: (options: BenchOptions) => Promise<Bench> }>({
  async bench({ onTestFinished }, use) {
    await use((options) => setUp(options, onTestFinished));
  },
});

/**
 * `test` with a `bench` to set up, which is taken down when the test ends. One after the other also
 * in a concurrent suite: what is concurrent are the suites.
 */
export const test = benchTest.sequential;

async function setUp(
  { kind, redis, servers = [], during, faultAtStart = "none", ...options }: BenchOptions,
  onTestFinished: TestContext["onTestFinished"],
): Promise<Bench> {
  let server = servers[0] ?? (await redisServer(redis));
  const proxy = await tcpProxy(server.port);
  onTestFinished(async () => {
    await proxy.close();
    if (servers.length === 0) await server.close();
  });
  await proxy.set(faultAtStart);
  const client = await kind.open(
    servers.length > 1 ? servers.map(({ port }) => port) : [proxy.port],
  );
  const admin = new Redis(server.port, "127.0.0.1");
  admin.on("error", () => {});
  onTestFinished(() => {
    client.close();
    admin.disconnect();
  });
  if (faultAtStart === "none") await until(client.isReady, "the client connects");

  const applied: string[] = [];
  const runs: string[] = [];
  const keys = new Map<string, string>();
  const acknowledged = new Set<string>();
  const completions: CompleteResult[] = [];
  const extensions: boolean[] = [];
  const store = redisStore(client.client);
  const observed = observedReceiver({
    name: "faults",
    store: {
      ...store,
      async complete(...call) {
        const result = await store.complete(...call);
        completions.push(result);
        return result;
      },
      async extend(...call) {
        const result = await store.extend(...call);
        extensions.push(result);
        return result;
      },
    },
    on: {
      "*": async (event, { run = 0, idempotencyKey }) => {
        // As the deliveries below are.
        const { id } = event as unknown as { readonly id: string };
        runs.push(`${id} ${run}`);
        keys.set(id, `svc-webhooks:${idempotencyKey}`);
        await during?.(id, run);
        applied.push(id);
      },
    },
    ...options,
  });

  /** The delivery is signed beforehand: what is measured is the receiver. */
  const attempt = async (id: string) => {
    const delivery = await signed(eventBody("email.sent", { id }), { "x-svc-delivery-id": id });
    return async (): Promise<Answered> => {
      const startedAt = performance.now();
      const { code, status, warnings } = await observed.receiver.receive(delivery);
      const at = performance.now();
      if (status === 200) acknowledged.add(id);
      return { code, status, warnings, ms: at - startedAt, at };
    };
  };

  const insist: Bench["insist"] = async (id) => {
    const codes: OutcomeCode[] = [];
    const receive = await attempt(id);
    await until(async () => {
      const { code, status } = await receive();
      codes.push(code);
      return status === 200;
    }, `${id} is answered 2xx`);
    return codes;
  };

  return {
    ...observed,
    server,
    proxy,
    client,
    admin,
    applied,
    runs,
    keys,
    completions,
    extensions,
    insist,
    async restart() {
      server = await server.restart();
    },
    async heal() {
      const before = proxy.accepted();
      await proxy.set("none");
      await until(() => proxy.accepted() > before && client.isReady(), "the client is back");
    },
    deliver: async (id) => (await attempt(id))(),
    async deliverAll(ids) {
      const attempts = await Promise.all(ids.map(attempt));
      return Promise.all(attempts.map((receive) => receive()));
    },
    async insistAll(ids) {
      await Promise.all(ids.map(insist));
    },
    states: async () => countsOf((await recordsOf(admin)).map((record) => record.charAt(0))),
    expectNothingLost(ids) {
      expect([...acknowledged].filter((id) => !applied.includes(id))).toEqual([]);
      expect(ids.filter((id) => !acknowledged.has(id))).toEqual([]);
    },
  };
}

/** Looks again and again until it is so; fails after 10 s. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** What a server holds. */
export async function recordsOf(redis: Redis): Promise<readonly string[]> {
  const keys = await redis.keys("svc-webhooks:*");
  return keys.length > 0 ? (await redis.mget(keys)).map(String) : [];
}

export const idsOf = (count: number, name = "evt"): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${name}_${index}`);

function countsOf(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** How often each code was answered. */
export const codesOf = (answers: readonly Answered[]): Readonly<Record<string, number>> =>
  countsOf(answers.map(({ code }) => code));

/** `<code> <status> <warnings>`, each once. */
export const outcomesOf = (answers: readonly Answered[]): readonly string[] => [
  ...new Set(answers.map(({ code, status, warnings }) => [code, status, ...warnings].join(" "))),
];

/**
 * The only assertion about time: a sender has its response by the deadline, the median within 500 ms of
 * it, the worst within 2 s, also on a loaded machine. A client with its defaults takes minutes.
 */
export function expectAnsweredBy(deadlineMs: number, answers: readonly Answered[]): void {
  const sorted = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  const worst = sorted.at(-1);
  expect(median, "median answer time in ms").toBeLessThan(deadlineMs + 500);
  expect(worst, "worst answer time in ms").toBeLessThan(deadlineMs + 2_000);
}

const haste = 20;

/** A clock on which everything takes a twentieth of its time. */
export const hastyClock = {
  haste,
  now: () => Date.now(),
  monotonic: () => performance.now() * haste,
  after(delayMs: number, run: () => void) {
    const timer = setTimeout(run, delayMs / haste);
    return () => clearTimeout(timer);
  },
};
