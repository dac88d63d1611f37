import {
  createReceiver,
  memoryStore,
  type DeliveryReport,
  type DeliveryStore,
  type OutcomeCode,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { secret } from "./deliveries.js";

export interface ObservedReceiver {
  readonly receiver: Receiver;
  readonly reports: readonly DeliveryReport[];
  readonly codes: () => readonly OutcomeCode[];
  /** The logged lines. */
  readonly lines: readonly string[];
  /** The errors that handlers threw. */
  readonly handlerErrors: readonly unknown[];
  readonly internalErrors: readonly unknown[];
  /** Resolves with the first report with this code. */
  readonly reported: (code: OutcomeCode) => Promise<DeliveryReport>;
}

/** A receiver that records its reports, lines and errors. By default, it handles every event. */
export function observedReceiver(options: Partial<ReceiverOptions> = {}): ObservedReceiver {
  const reports: DeliveryReport[] = [];
  const lines: string[] = [];
  const handlerErrors: unknown[] = [];
  const internalErrors: unknown[] = [];
  const waiting: { code: OutcomeCode; resolve: (report: DeliveryReport) => void }[] = [];
  const receiver = createReceiver({
    secret,
    // Several receivers in a test may share a store.
    ...(options.store && { name: "test" }),
    on: { "*": () => {} },
    observe(report) {
      reports.push(report);
      const index = waiting.findIndex(({ code }) => code === report.code);
      if (index >= 0) waiting.splice(index, 1)[0]?.resolve(report);
    },
    log: (line) => lines.push(line),
    onHandlerError: (error) => handlerErrors.push(error),
    onInternalError: (error) => internalErrors.push(error),
    ...options,
  });
  return {
    receiver,
    reports,
    lines,
    handlerErrors,
    internalErrors,
    codes: () => reports.map(({ code }) => code),
    reported: (code) =>
      new Promise((resolve) => {
        const report = reports.find((one) => one.code === code);
        if (report) resolve(report);
        else waiting.push({ code, resolve });
      }),
  };
}

type Operation = "claim" | "complete" | "release" | "extend" | "forget";

export interface RecordedStore {
  readonly store: DeliveryStore;
  readonly calls: readonly { readonly operation: Operation; readonly key: string }[];
  readonly operations: () => readonly Operation[];
  /** The only key that was used. Throws if there were several or none. */
  readonly onlyKey: () => string;
}

/** A store that records its calls, some of them replaced. */
export function recordedStore(
  replaced: Partial<DeliveryStore> = {},
  inner: DeliveryStore = memoryStore(),
): RecordedStore {
  const calls: { operation: Operation; key: string }[] = [];
  const whole = { ...inner, ...replaced };
  const note = (operation: Operation, key: string) => calls.push({ operation, key });
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
      claim(key, request, call) {
        note("claim", key);
        return whole.claim(key, request, call);
      },
      complete(key, request, call) {
        note("complete", key);
        return whole.complete(key, request, call);
      },
      release(key, request, call) {
        note("release", key);
        return whole.release(key, request, call);
      },
      extend(key, request, call) {
        note("extend", key);
        return whole.extend(key, request, call);
      },
      forget(key, call) {
        note("forget", key);
        return whole.forget(key, call);
      },
    },
  };
}

/** For calling a store directly, as another worker would. */
export const call = { signal: new AbortController().signal };
export const week = 604_800_000;
export const claimBy = (token: string) => ({ token, leaseMs: 30_000, retainMs: week });
