import type { FakeClock } from "@svc-webhooks/testing";
import type { CompleteResult, Outcome, OutcomeCode, ReceiverOptions } from "@svc-webhooks/core";
import { redisStore } from "@svc-webhooks/redis";
import { Redis } from "ioredis";
import { expect, test as plainTest, vi, type TestContext } from "vitest";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { observedReceiver, type ObservedReceiver } from "@svc-webhooks/kit/receivers";
import { redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { ownTime } from "@svc-webhooks/kit/own-time";
import { until } from "@svc-webhooks/kit/until";
import type { ClientKind, TestClient } from "@svc-webhooks/kit/redis-clients";
import { tcpProxy, type Fault, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";

/** The outcome of a delivery. */
export interface Received {
  readonly code: OutcomeCode;
  readonly status: number;
  readonly warnings: Outcome["warnings"];
  readonly ms: number;
  /** A time from `ownTime()`. */
  readonly at: number;
}

/**
 * Mocks interval timers for the rest of the test, so that the store's watch for silence runs only when the test calls
 * `vi.advanceTimersByTime`. Not for concurrent suites.
 */
export function ticking({ onTestFinished }: TestContext): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A receiver, its Redis server, a proxy between them, and functions that act as the sender. */
export interface Rig extends ObservedReceiver {
  readonly server: RedisServer;
  /** Kills the server if it is still running, and starts it again. */
  readonly restart: () => Promise<void>;
  readonly proxy: TcpProxy;
  readonly client: TestClient;
  /** Resolves when the client has noticed that it lost its connection. */
  readonly disconnected: () => Promise<void>;
  /** Ends a fault that broke the client's connection, and resolves when the client has reconnected. */
  readonly heal: () => Promise<void>;
  /** The event id of each applied effect. */
  readonly applied: readonly string[];
  /** An entry `<id> <run>` for each start of a handler. */
  readonly runs: readonly string[];
  /** Resolves when handlers have been started at least this many times. */
  readonly started: (count: number) => Promise<void>;
  /** The record keys of all events that ran, by event id. */
  readonly keys: ReadonlyMap<string, string>;
  /** The store's replies to `complete`, including those that arrive after their deadline. */
  readonly completions: readonly CompleteResult[];
  readonly extensions: readonly boolean[];
  /** Makes one attempt to deliver an event. */
  readonly deliver: (id: string) => Promise<Received>;
  /** Makes one attempt for each id, all of them concurrently. */
  readonly deliverAll: (ids: readonly string[]) => Promise<readonly Received[]>;
  /** Retries like the service, but sooner, until it gets a 2xx. Resolves with the codes of all attempts. */
  readonly insist: (id: string) => Promise<readonly OutcomeCode[]>;
  readonly insistAll: (ids: readonly string[]) => Promise<unknown>;
  /** A connection to the server that bypasses the proxy. */
  readonly admin: Redis;
  /** Returns the number of records in each state, keyed by the state's first letter. */
  readonly states: () => Promise<Readonly<Record<string, number>>>;
  /** Resolves when this many records are in the state, which is given by its first letter. */
  readonly recorded: (state: "d" | "f", count: number) => Promise<void>;
  /** Checks that all acknowledged events were applied, and that these events were acknowledged. */
  readonly expectNothingLost: (ids: readonly string[]) => void;
  /** Checks that the effects are exactly those of these events, each as often as it is listed. */
  readonly expectApplied: (ids: readonly string[]) => void;
}

export interface RigOptions extends Partial<ReceiverOptions> {
  readonly kind: ClientKind;
  /** Command-line options for the server. */
  readonly redis?: readonly string[];
  /**
   * Existing servers to use instead: one server, or the nodes of a cluster. The client connects to a cluster without
   * the proxy.
   */
  readonly servers?: readonly RedisServer[];
  /** Called in each run before its effect is applied. */
  readonly during?: (id: string, run: number) => unknown;
  /** The network fault that is active while the client is created. */
  readonly faultAtStart?: Fault;
}

/** Options that park an event instead of running it a second time. */
export const oneRun = { maxRuns: 1, onParked: () => {} };

/** A `test` that runs sequentially even in a concurrent suite: suites run concurrently, but their tests do not. */
export const test = plainTest.sequential;

/** Starts a rig. It is closed when the test ends. */
export async function rig(
  { onTestFinished }: TestContext,
  { kind, redis, servers = [], during, faultAtStart = "none", ...options }: RigOptions,
): Promise<Rig> {
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
      "*": async (_event, { deliveryId: id, run = 0, idempotencyKey }) => {
        runs.push(`${id} ${run}`);
        keys.set(id, `svc-webhooks:${idempotencyKey}`);
        await during?.(id, run);
        applied.push(id);
      },
    },
    ...options,
  });

  /** Signs a delivery, and returns a function that makes the attempt, so that only the receiver's time is measured. */
  const attempt = async (id: string) => {
    const delivery = await signed(eventBody("email.sent", { id }), { "x-svc-delivery-id": id });
    return async (): Promise<Received> => {
      const startedAt = ownTime();
      const { code, status, warnings } = await observed.receiver.receive(delivery);
      const at = ownTime();
      if (status === 200) acknowledged.add(id);
      return { code, status, warnings, ms: at - startedAt, at };
    };
  };

  const insist: Rig["insist"] = async (id) => {
    const codes: OutcomeCode[] = [];
    const receive = await attempt(id);
    await until(async () => {
      const { code, status } = await receive();
      codes.push(code);
      return status === 200;
    }, `${id} gets a 2xx`);
    return codes;
  };

  const states: Rig["states"] = async () =>
    countsOf((await recordsOf(admin)).map((record) => record.charAt(0)));

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
    states,
    async restart() {
      server = await server.restart();
    },
    disconnected: () => until(() => !client.isReady(), "the client has noticed"),
    async heal() {
      const before = proxy.accepted();
      await proxy.set("none");
      await until(() => proxy.accepted() > before && client.isReady(), "the client is back");
    },
    started: (count) => until(() => runs.length >= count, `${count} handlers have started`),
    deliver: async (id) => (await attempt(id))(),
    async deliverAll(ids) {
      const attempts = await Promise.all(ids.map(attempt));
      return Promise.all(attempts.map((receive) => receive()));
    },
    insistAll: (ids) => Promise.all(ids.map((id) => insist(id))),
    recorded: (state, count) =>
      until(async () => (await states())[state] === count, `${count} records are in ${state}`),
    expectNothingLost(ids) {
      expect([...acknowledged].filter((id) => !applied.includes(id))).toEqual([]);
      expect(ids.filter((id) => !acknowledged.has(id))).toEqual([]);
    },
    expectApplied: (ids) => expect(applied.toSorted()).toEqual(ids.toSorted()),
  };
}

/** The default value of `storeTimeouts.claim` and `storeTimeouts.release`. */
export const defaultDeadlineMs = 1_500;

/**
 * Sends a delivery whose store calls get no reply, and advances the clock past the deadlines of its claim and its
 * release. Only `between` takes real time.
 */
export async function unanswered(
  { client, deliver }: Rig,
  clock: FakeClock,
  id: string,
  between?: () => Promise<unknown>,
): Promise<void> {
  const claimed = client.calls() + 1;
  const outcome = deliver(id);
  await until(() => client.calls() >= claimed, "the claim is sent");
  await clock.advance(defaultDeadlineMs);
  expect(await outcome).toMatchObject({ code: "store_unavailable", status: 503 });
  await until(() => client.calls() > claimed, "the release is sent");
  await between?.();
  await clock.advance(defaultDeadlineMs);
}

/** Returns all records on a server. */
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

/** Returns the number of outcomes with each code. */
export const codesOf = (outcomes: readonly Received[]): Readonly<Record<string, number>> =>
  countsOf(outcomes.map(({ code }) => code));

/** Returns the distinct outcomes, as `<code> <status> <warnings>`. */
export const outcomesOf = (outcomes: readonly Received[]): readonly string[] => [
  ...new Set(outcomes.map(({ code, status, warnings }) => [code, status, ...warnings].join(" "))),
];

/**
 * Checks that a sender has its response by the deadline, the median within 500 ms of it, the worst within 2 s,
 * in the time of this process. This is the only assertion about time. A client with its defaults takes minutes.
 */
export function expectOutcomesBy(deadlineMs: number, outcomes: readonly Received[]): void {
  const sorted = outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  const worst = sorted.at(-1);
  expect(median, "median answer time in ms").toBeLessThan(deadlineMs + 500);
  expect(worst, "worst answer time in ms").toBeLessThan(deadlineMs + 2_000);
}
