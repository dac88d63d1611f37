import {
  createGuard,
  createIntake,
  createReceiver,
  PermanentError,
  WebhookError,
  type Delivery,
  type DeliveryStore,
  type Handler,
  type Outcome,
  type ReceiverOptions,
  type RecordState,
  type StandardSchemaV1,
  type VerifiedEvent,
} from "@svc-webhooks/core";
import { defineInbox } from "@svc-webhooks/core/inbox";
import { faultyStore, type FaultPlan } from "@svc-webhooks/testing/faulty-store";
import { describe, expect, test } from "vitest";
import { secret, signed } from "./deliveries.js";
import { gate } from "./gate.js";
import { call, claimBy, patient } from "./receivers.js";
import { storeThrough } from "./store-through.js";

/** A store, and a function that ages its records. */
export interface IntakeWorld {
  readonly store: DeliveryStore;
  readonly advance: (ms: number) => unknown;
}

type Event = VerifiedEvent<"a">;
type Options = Partial<Omit<ReceiverOptions, "on" | "secret">>;

const eventOf = (id: string): Event => ({ source: "a", id, body: '{"type":"item"}' });

const quiet = {
  name: "rows",
  log: () => {},
  onHandlerError: () => {},
  onParked: () => {},
  storeTimeouts: patient,
};

/** The ways in: a receiver, an intake and a guard, each with one handler. */
const entries = {
  receive(options: Options, handler: Handler) {
    const receiver = createReceiver({ ...quiet, ...options, secret, on: { item: handler } });
    const deliver = async ({ id, body }: Event): Promise<Delivery> =>
      signed(body as string, { "x-svc-delivery-id": id });
    return { ...receiver, enter: async (event: Event) => receiver.receive(await deliver(event)) };
  },
  accept(options: Options, handler: Handler) {
    const intake = createIntake({ ...quiet, ...options, sources: ["a"], on: { item: handler } });
    return { ...intake, enter: (event: Event) => intake.accept(event) };
  },
  run(options: Options, handler: Handler) {
    const guard = createGuard({ ...quiet, ...options, sources: ["a"] });
    return { ...guard, enter: (event: Event) => guard.run({ type: "item", ...event }, handler) };
  },
};

type Entry = keyof typeof entries;

/** Resolves to the key of an event's record. */
async function keyOf(id: string): Promise<string> {
  let key = "";
  const { enter } = entries.run({}, (_, { idempotencyKey }) => void (key = idempotencyKey));
  await enter(eventOf(id));
  return key;
}

type Prepare = (world: IntakeWorld, key: string) => unknown;

const other = claimBy("other");
const claimed: Prepare = ({ store }, key) => store.claim(key, other, call);
const released =
  (to: "failed" | "parked"): Prepare =>
  async (world, key) => {
    await claimed(world, key);
    await world.store.release(key, { ...other, to }, call);
  };

const states = {
  none: () => {},
  failed: released("failed"),
  "running, lease alive": claimed,
  "running, lease dead": async (world, key) => {
    await claimed(world, key);
    await world.advance(other.leaseMs + 1);
  },
  done: ({ store }, key) => store.complete(key, other, call),
  parked: released("parked"),
} satisfies Record<string, Prepare>;

type State = keyof typeof states;

const every = Object.keys(states) as readonly State[];
const claimable: readonly State[] = ["none", "failed", "running, lease dead"];

const throwing = (error: Error) => () => {
  throw error;
};
const no = new Error("no");
const refusing: StandardSchemaV1 = {
  "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "no" }] }) },
};
const unavailable: FaultPlan = {
  claim: { "*": { fails: "before", error: new WebhookError("not_sent", "no") } },
};

interface Circumstances {
  readonly handler?: Handler;
  readonly options?: Options;
  readonly faults?: FaultPlan;
  /** Whether the handler is pending until the outcome is known. */
  readonly isHeld?: boolean;
  /** The function that stores in an inbox, from which the handler runs. A guard has none. */
  readonly enqueue?: () => void;
}

const circumstances = {
  "the handler resolves": {},
  "the handler throws": { handler: throwing(no) },
  "the handler throws a PermanentError": { handler: throwing(new PermanentError("no")) },
  "`maxRuns` runs have failed": { options: { maxRuns: 1 } },
  "the schema refuses it": { options: { events: { item: refusing } } },
  "the handler exceeds its time": { options: { handlerTimeoutMs: 1 }, isHeld: true },
  "a copy arrives": {},
  "an inbox stores it": { enqueue: () => {} },
  "the inbox fails": { enqueue: throwing(no) },
  "the store fails": { faults: unavailable },
  "a failing store is ignored": { faults: unavailable, options: { onStoreError: "process" } },
} satisfies Record<string, Circumstances>;

type Result = `${Outcome["status"]} ${Outcome["code"]}`;

/** The states, and the outcome, the runs, the calls to the store and the later state of an event in each of them. */
type Row = readonly [
  what: keyof typeof circumstances,
  states: readonly State[],
  result: Result,
  runs: number,
  calls: number,
  then?: RecordState,
];

const rows: readonly Row[] = [
  ["the handler resolves", claimable, "200 processed", 1, 2, "done"],
  ["the handler throws", claimable, "500 handler_failed", 1, 2, "failed"],
  ["the handler throws a PermanentError", claimable, "200 parked", 1, 2, "parked"],
  ["`maxRuns` runs have failed", claimable.slice(1), "200 parked", 0, 2, "parked"],
  ["the schema refuses it", claimable, "500 event_invalid", 0, 2, "failed"],
  ["the handler exceeds its time", claimable, "503 handler_timeout", 1, 2, "done"],
  ["a copy arrives", ["running, lease alive"], "503 in_flight", 0, 1],
  ["a copy arrives", ["done"], "200 duplicate", 0, 1],
  ["a copy arrives", ["parked"], "200 parked", 0, 1],
  ["an inbox stores it", every, "200 enqueued", 0, 0],
  ["the inbox fails", every, "503 queue_unavailable", 0, 0],
  ["the store fails", every, "503 store_unavailable", 0, 1],
  ["a failing store is ignored", every, "200 processed", 1, 2, "done"],
];

const cases = rows.flatMap(([what, inStates, ...row]) =>
  inStates.map((state) => [state, what, ...row] as const),
);

const all = ["receive", "accept", "run"] as const;
/** The ways for calls that no request can contain. */
const unsigned = ["accept", "run"] as const;
/** The ways with routes: a guard has neither a type in the body nor an inbox. */
const routed = ["receive", "accept"] as const;

/** An event with a fault, its outcome, what it enters through, and what the first event's handler is doing. */
type Fault = readonly [
  what: string,
  event: { readonly [Member in keyof Event]?: unknown },
  result: Result,
  through: readonly Entry[],
  during?: "run" | "drain",
];

const faults: readonly Fault[] = [
  ["more events than `maxConcurrent`", {}, "503 overloaded", all, "run"],
  ["a body that cannot be converted", { body: { n: 1n } }, "500 body_unavailable", unsigned],
  ["a large body", { body: "x".repeat(1_048_577) }, "413 body_too_large", all],
  ["a drain", {}, "503 draining", all, "drain"],
  ["another source", { source: "b" }, "500 misconfigured", unsigned],
  ["a body that is not an object", { body: "[1]" }, "400 malformed_body", all],
  ["no id", { id: undefined }, "400 delivery_id_missing", all],
  ["an id with a comma", { id: "a,b" }, "400 delivery_id_malformed", all],
  ["no type", { body: "{}" }, "500 event_untyped", routed],
  ["a type with NUL", { type: "a\0b" }, "500 event_untyped", unsigned],
  ["a type without a handler", { body: '{"type":"other"}' }, "200 ignored", routed],
];

const counted = (store: DeliveryStore) => {
  const count = { calls: 0 };
  const through = storeThrough(store, async (send) => {
    count.calls += 1;
    return send();
  });
  return { count, store: through };
};

/** Registers a test of each record state and each fault of an event, for a receiver, an intake and a guard. */
export function intakeContract(name: string, open: () => IntakeWorld | Promise<IntakeWorld>): void {
  describe(`events on ${name}`, () => {
    test.for(cases)("%s, and %s: %s", async ([state, what, result, runs, calls, then]) => {
      const world = await open();
      const {
        handler,
        options,
        faults: plan = {},
        isHeld,
        enqueue,
      }: Circumstances = circumstances[what];
      const seen: unknown[] = [];
      for (const entry of enqueue ? routed : all) {
        const event = eventOf([entry, state, what].join("-").replace(/[^\w-]/g, "_"));
        const key = await keyOf(event.id);
        await states[state](world, key);
        const before = await world.store.peek?.([key], call);
        const { store, count } = counted(faultyStore(world.store, plan));
        const { opened, open: finish } = gate();
        const ran: unknown[] = [];
        const run: Handler = (...given) => {
          ran.push(given);
          return isHeld ? opened : handler?.(...given);
        };
        const on = enqueue ? defineInbox(async () => enqueue())(run) : run;
        const { enter, drain } = entries[entry]({ store, ...options }, on);
        const { code, status, ...facts } = await enter(event);
        finish();
        await drain({ deadlineMs: 60_000 });
        expect([`${status} ${code}`, ran.length, count.calls]).toEqual([result, runs, calls]);
        expect(await world.store.peek?.([key], call)).toEqual(then ? [then] : before);
        if (code !== "enqueued" && runs > 0 && facts.dedupe === "verified") {
          expect(facts.run).toBe(state === "none" ? 1 : 2);
          expect(facts.warnings).toEqual(state === "running, lease dead" ? ["taken_over"] : []);
        }
        seen.push([code, status, facts.warnings, facts.run, facts.dedupe, facts.retryAfterMs]);
      }
      for (const one of seen) expect(one).toEqual(seen[0]);
    });

    test.for(faults)("%s ends without a record", async ([, parts, result, through, during]) => {
      const { store, count } = counted((await open()).store);
      for (const entry of through) {
        const [started, finished] = [gate(), gate()];
        const options = { store, ...(during === "run" && { maxConcurrent: 1 }) };
        const { enter, drain } = entries[entry](options, () => {
          started.open();
          return finished.opened;
        });
        const first = during && enter(eventOf(`${entry}-${during}`));
        if (first) await started.opened;
        const drained = during === "drain" && drain({ deadlineMs: 60_000 });
        const { status, code } = await enter({ ...eventOf("faulty"), ...parts } as Event);
        finished.open();
        await Promise.all([first, drained]);
        expect(`${status} ${code}`).toBe(result);
        expect(count.calls).toBe(during ? 2 : 0);
        count.calls = 0;
      }
    });
  });
}
