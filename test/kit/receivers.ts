import {
  createReceiver,
  memoryStore,
  type Delivery,
  type DeliveryReport,
  type DeliveryStore,
  type MemoryStoreOptions,
  type Outcome,
  type OutcomeCode,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { secret, signed } from "./deliveries.js";
import { gate } from "./gate.js";

type Sent = Delivery | Promise<Delivery>;

export interface ObservedReceiver {
  readonly receiver: Receiver;
  /** Receives a delivery: by default, a copy of the same one each time. */
  readonly receive: (delivery?: Sent) => Promise<Outcome>;
  /** Receives deliveries one after the other, and resolves with their codes. */
  readonly receiveAll: (...deliveries: readonly Sent[]) => Promise<readonly OutcomeCode[]>;
  readonly reports: readonly DeliveryReport[];
  /** Returns the codes of the reports. */
  readonly codes: () => readonly OutcomeCode[];
  /** The logged lines. */
  readonly lines: readonly string[];
  /** The errors that handlers threw. */
  readonly handlerErrors: readonly unknown[];
  readonly internalErrors: readonly unknown[];
  /** Resolves with the first report with this code. */
  readonly reported: (code: OutcomeCode) => Promise<DeliveryReport>;
}

/** The longest deadlines: a busy machine may be late with a reply, which is no fault. */
export const patient = { claim: 10_000, complete: 10_000, release: 10_000, extend: 10_000 };

/**
 * Returns a receiver that records its reports, lines and errors. By default, it handles every event, and in real time it
 * has the longest store timeouts.
 */
export function observedReceiver(options: Partial<ReceiverOptions> = {}): ObservedReceiver {
  const reports: DeliveryReport[] = [];
  const lines: string[] = [];
  const handlerErrors: unknown[] = [];
  const internalErrors: unknown[] = [];
  const waiting: (() => void)[] = [];
  const receiver = createReceiver({
    secret,
    // Several receivers in a test may share a store.
    ...(options.store && { name: "test" }),
    on: { "*": () => {} },
    observe(report) {
      reports.push(report);
      for (const resume of waiting.splice(0)) resume();
    },
    log: (line) => lines.push(line),
    onHandlerError: (error) => handlerErrors.push(error),
    onInternalError: (error) => internalErrors.push(error),
    ...options,
    ...(options.clock === undefined && { storeTimeouts: { ...patient, ...options.storeTimeouts } }),
  });
  const receive = async (delivery: Sent = signed()) => receiver.receive(await delivery);
  return {
    receiver,
    receive,
    async receiveAll(...deliveries) {
      const codes: OutcomeCode[] = [];
      for (const delivery of deliveries) codes.push((await receive(delivery)).code);
      return codes;
    },
    reports,
    lines,
    handlerErrors,
    internalErrors,
    codes: () => reports.map(({ code }) => code),
    async reported(code) {
      for (;;) {
        const report = reports.find((one) => one.code === code);
        if (report) return report;
        await new Promise<void>((resume) => waiting.push(resume));
      }
    },
  };
}

/** Handles every event. Each run lasts until `finish` or `fail` is called. */
export function heldHandler() {
  const [started, finished] = [gate(), gate()];
  const on = {
    "*": () => {
      started.open();
      return finished.opened;
    },
  };
  return { on, started: started.opened, finish: finished.open, fail: finished.fail };
}

/** Returns a memory store on a clock that the test moves. */
export function timedStore(options: MemoryStoreOptions = {}): {
  readonly clock: FakeClock;
  readonly store: DeliveryStore;
} {
  const clock = fakeClock();
  return { clock, store: memoryStore({ clock, ...options }) };
}

type Operation = "claim" | "complete" | "release" | "extend" | "forget";

export interface RecordedStore {
  readonly store: DeliveryStore;
  readonly calls: readonly { readonly operation: Operation; readonly key: string }[];
  readonly operations: () => readonly Operation[];
  /** Returns the only key that was used. Throws if there were several or none. */
  readonly onlyKey: () => string;
}

/** Returns a store that records its calls, some of them replaced. */
export function recordedStore(
  replaced: Partial<DeliveryStore> = {},
  inner: DeliveryStore = memoryStore(),
): RecordedStore {
  const calls: { operation: Operation; key: string }[] = [];
  const whole = { ...inner, ...replaced };
  const recorded =
    <Args extends readonly [key: string, ...unknown[]], Result>(
      operation: Operation,
      run: (...args: Args) => Result,
    ) =>
    (...args: Args): Result => {
      calls.push({ operation, key: args[0] });
      return run(...args);
    };
  return {
    calls,
    operations: () => calls.map(({ operation }) => operation),
    onlyKey() {
      const [key, ...others] = new Set(calls.map((call) => call.key));
      if (key === undefined || others.length > 0) {
        throw new Error("The store was not called with exactly one key.");
      }
      return key;
    },
    store: {
      shared: whole.shared,
      claim: recorded("claim", (...args) => whole.claim(...args)),
      complete: recorded("complete", (...args) => whole.complete(...args)),
      release: recorded("release", (...args) => whole.release(...args)),
      extend: recorded("extend", (...args) => whole.extend(...args)),
      forget: recorded("forget", (...args) => whole.forget(...args)),
    },
  };
}

/** The arguments for calling a store directly, as another worker would. */
export const call = { signal: new AbortController().signal };
export const week = 604_800_000;
export const claimBy = (token: string) => ({ token, leaseMs: 30_000, retainMs: week });
