import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { faultyStore } from "@svc-webhooks/testing/faulty-store";
import {
  createReceiver,
  memoryStore,
  type ClaimRequest,
  type Clock,
  type DeliveryContext,
  type DeliveryReport,
  type DeliveryStore,
  type HandlerResult,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  type ReleaseRequest,
  type StandardSchemaResult,
  type StandardSchemaV1,
} from "../src/index.js";

export const second = 1_000;

export interface Observed {
  readonly receiver: Receiver;
  readonly reports: DeliveryReport[];
  readonly lines: string[];
}

/** A receiver that records its reports and lines. By default it handles every event. */
export function observed(options: Partial<ReceiverOptions> = {}): Observed {
  const reports: DeliveryReport[] = [];
  const lines: string[] = [];
  const receiver = createReceiver({
    secret,
    // Several receivers of a test may share a store.
    name: "test",
    on: { "*": () => {} },
    observe: (report) => reports.push(report),
    log: (line) => lines.push(line),
    onHandlerError: (error) => lines.push(`handler: ${String(error)}`),
    ...options,
  });
  return { receiver, reports, lines };
}

/** Signs a delivery and passes it to the receiver. */
export const send = async (
  receiver: Receiver,
  ...delivery: Parameters<typeof signed>
): Promise<Outcome> => receiver.receive(await signed(...delivery));

/** The outcome codes of this many attempts, one after another. */
export async function codesOf(
  receiver: Receiver,
  attempts: number,
  ...delivery: Parameters<typeof signed>
): Promise<string[]> {
  const codes: string[] = [];
  while (codes.length < attempts) codes.push((await send(receiver, ...delivery)).code);
  return codes;
}

/** Makes some operations of a store fail. */
type Faults = (store: DeliveryStore, clock: FakeClock) => Partial<DeliveryStore>;

export type Timed = ReturnType<typeof timed>;

/** An observed receiver and its store, with the calls of the store, on a fake clock. */
export function timed(options: Partial<ReceiverOptions> = {}, faults: Faults = () => ({})) {
  const clock = fakeClock();
  const working = memoryStore({ clock });
  const calls: NotedCall[] = [];
  const store = noting(calls, { ...working, ...faults(working, clock) });
  const operations = () => operationsOf(calls);
  return { clock, store, calls, operations, ...observed({ clock, store, ...options }) };
}

/** A timed receiver, and the contexts with which its handler ran. */
export function recorded(
  {
    handle = () => {},
    ...options
  }: Partial<ReceiverOptions> & { readonly handle?: () => HandlerResult } = {},
  faults?: Faults,
) {
  const contexts: DeliveryContext[] = [];
  const on = {
    "*": (_: unknown, context: DeliveryContext) => {
      contexts.push(context);
      return handle();
    },
  };
  return { ...timed({ on, ...options }, faults), contexts };
}

/** A recorded receiver whose handler waits for `finish` or `fail`. */
export function gated(options: Partial<ReceiverOptions> = {}, faults?: Faults) {
  const { opened, open, fail } = gate();
  return {
    ...recorded({ handle: () => opened, ...options }, faults),
    /** Lets every handler return. Resolves when the runs have settled. */
    finish: () => {
      open();
      return settled();
    },
    /** Lets every handler reject. Resolves when the runs have settled. */
    fail: (error: unknown) => {
      fail(error);
      return settled();
    },
  };
}

/** Returns a function that throws `error`. */
export const throwing = (error: unknown) => (): never => {
  throw error;
};

/** The two ways in which a function fails, as rows of a table. */
export const bothWays = (thrown: unknown): [string, () => never | Promise<never>][] => [
  ["throws", throwing(thrown)],
  ["rejects", () => Promise.reject(thrown)],
];

/** Returns a handler that throws "no" in every run but this one. */
export const failsUnlessRun =
  (wanted: number) =>
  (_: unknown, { run }: DeliveryContext): void => {
    if (run !== wanted) throw new Error("no");
  };

/** Makes the first calls of one operation fail. */
export const failsFirst =
  (times: number, failing: Operation): Faults =>
  (store) => {
    const calls = Array.from({ length: times }, (_, at) => [at + 1, { fails: "before" }]);
    return faultyStore(store, { [failing]: Object.fromEntries(calls) });
  };

/** A schema with this `validate`. */
export const schemaBy = (
  validate: (
    event: unknown,
  ) => StandardSchemaResult<unknown> | Promise<StandardSchemaResult<unknown>>,
): StandardSchemaV1 => ({ "~standard": { version: 1, vendor: "test", validate } });

type Operation = "claim" | "complete" | "release" | "extend";

export interface NotedCall {
  readonly operation: Operation;
  readonly key: string;
  readonly request: ClaimRequest & Partial<ReleaseRequest>;
}

/** Records the calls of the store and passes them on. */
export const noting = (calls: NotedCall[], store: DeliveryStore): DeliveryStore =>
  intercepted(store, (call) => calls.push(call));

/** Calls `before` ahead of each operation. */
function intercepted(store: DeliveryStore, before: (call: NotedCall) => void): DeliveryStore {
  return {
    ...store,
    claim(key, request, call) {
      before({ operation: "claim", key, request });
      return store.claim(key, request, call);
    },
    complete(key, request, call) {
      before({ operation: "complete", key, request });
      return store.complete(key, request, call);
    },
    release(key, request, call) {
      before({ operation: "release", key, request });
      return store.release(key, request, call);
    },
    extend(key, request, call) {
      before({ operation: "extend", key, request });
      return store.extend(key, request, call);
    },
  };
}

/** The calls as text: `"claim"`, `"release failed"`. */
export const operationsOf = (calls: readonly NotedCall[]): string[] =>
  calls.map(({ operation, request: { to } }) => (to ? `${operation} ${to}` : operation));

/** Resolves after `ms` of the clock. */
export const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => clock.after(ms, resolve));

/** Returns a promise that never settles. */
export const never = (): Promise<never> => new Promise(() => {});

/** The store grants each claim, but the result of the first one is lost. */
export const losingFirstResult = (store: DeliveryStore): DeliveryStore =>
  faultyStore(store, { claim: { 1: { fails: "after" } } });
