import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import {
  createReceiver,
  memoryStore,
  type ClaimRequest,
  type Clock,
  type DeliveryReport,
  type DeliveryStore,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  type ReleaseRequest,
  type StandardSchemaResult,
  type StandardSchemaV1,
} from "../src/index.js";

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

export interface Timed extends Observed {
  readonly clock: FakeClock;
  readonly store: DeliveryStore;
}

/** An observed receiver and its store on a fake clock. `faults` replaces calls of the store. */
export function timed(
  options: Partial<ReceiverOptions> = {},
  faults: (store: DeliveryStore, clock: FakeClock) => Partial<DeliveryStore> = () => ({}),
): Timed {
  const clock = fakeClock();
  const working = memoryStore({ clock });
  const store = { ...working, ...faults(working, clock) };
  return { clock, store, ...observed({ clock, store, ...options }) };
}

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
export function noting(calls: NotedCall[], store: DeliveryStore): DeliveryStore {
  const note = (operation: Operation, key: string, request: ClaimRequest) =>
    calls.push({ operation, key, request });
  return {
    ...store,
    claim(key, request, call) {
      note("claim", key, request);
      return store.claim(key, request, call);
    },
    complete(key, request, call) {
      note("complete", key, request);
      return store.complete(key, request, call);
    },
    release(key, request, call) {
      note("release", key, request);
      return store.release(key, request, call);
    },
    extend(key, request, call) {
      note("extend", key, request);
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

/** A promise that never settles. */
export const never = (): Promise<never> => new Promise(() => {});
