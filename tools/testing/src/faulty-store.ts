import type { Clock, DeliveryStore, MaybePromise, StoreCall } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";

/** A fault in one call to a store. */
export interface Fault<Result> {
  /**
   * The delay before the call reaches the store, rejects, or resolves to `lies`, in whole milliseconds of the option
   * `clock`, 0 … 2^31 − 1. Default: no delay.
   */
  readonly lateMs?: number | undefined;
  /**
   * Makes the call reject: with `"before"`, before it reaches the store; with `"after"`, once the store has run it,
   * as if the result had been lost. Default: the call rejects only if the store's own call fails.
   */
  readonly fails?: "before" | "after" | undefined;
  /**
   * The error with which a call that `fails` rejects. Must be omitted without `fails`. Default: an `Error` with the
   * message "connection reset".
   */
  readonly error?: unknown;
  /**
   * The result to which the call resolves without reaching the store, such as an outdated result. Cannot be combined
   * with `fails`.
   */
  readonly lies?: Result | undefined;
}

/**
 * The faults of one method. A key is the number of a call to this method, from 1. The fault under `"*"` applies to all
 * calls that have no fault of their own.
 */
export type Faults<Result> = Readonly<Partial<Record<number | "*", Fault<Result>>>>;

const methods = ["claim", "complete", "release", "extend", "forget", "peek", "check"] as const;

type Method = (typeof methods)[number];

/** The faults of a store, by method. */
export type FaultPlan = {
  readonly [Name in Method]?:
    Faults<Awaited<ReturnType<NonNullable<DeliveryStore[Name]>>>> | undefined;
};

export interface FaultyStoreOptions {
  /** The clock that measures `lateMs`. Default: real time. */
  readonly clock?: Pick<Clock, "after"> | undefined;
}

/**
 * Wraps a store so that its calls are late, fail or lie according to `plan`. Calls without a fault return the store's
 * own results. The calls of each method are counted separately, from 1.
 *
 * @throws ConfigError `unknown_option` for an unknown option, method or member of a fault; `invalid_option` for
 *   an invalid fault, and for a call in `plan` that is neither `"*"` nor a whole number from 1
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver, memoryStore } from "svc-webhooks";
 * import { fixture, signedDelivery } from "@svc-webhooks/testing";
 * import { faultyStore } from "@svc-webhooks/testing/faulty-store";
 *
 * const store = faultyStore(memoryStore(), { claim: { 1: { fails: "after" } } });
 * const receiver = createReceiver({
 *   secret: "whsec_test",
 *   name: "test",
 *   store,
 *   on: { "*": () => {} },
 *   logger: { info() {}, warn() {}, error() {} },
 * });
 *
 * const delivery = await signedDelivery(fixture("email.sent"));
 * assert.equal((await receiver.receive(delivery)).code, "store_unavailable");
 * assert.equal((await receiver.receive(delivery)).code, "processed");
 * ```
 */
export function faultyStore(
  store: DeliveryStore,
  plan: FaultPlan,
  options: FaultyStoreOptions = {},
): DeliveryStore {
  assertPlan(plan);
  assertOptions(options, ["clock"]);
  const { clock = realTime } = options;

  function faulty<Args extends readonly unknown[], Result>(
    faults: Faults<Result> | undefined,
    call: (...args: Args) => MaybePromise<Result>,
  ): (...args: Args) => MaybePromise<Result> {
    let calls = 0;
    return (...args) => {
      calls += 1;
      const fault = faults?.[calls] ?? faults?.["*"];
      return fault ? failing(fault, clock, () => call(...args)) : call(...args);
    };
  }

  return {
    shared: store.shared,
    claim: faulty(plan.claim, (...args) => store.claim(...args)),
    complete: faulty(plan.complete, (...args) => store.complete(...args)),
    release: faulty(plan.release, (...args) => store.release(...args)),
    extend: faulty(plan.extend, (...args) => store.extend(...args)),
    forget: faulty(plan.forget, (...args) => store.forget(...args)),
    ...(store.peek && {
      peek: faulty(
        plan.peek,
        (keys: readonly string[], call: StoreCall) => store.peek?.(keys, call) ?? [],
      ),
    }),
    ...(store.check && {
      check: faulty(plan.check, (call: StoreCall) => store.check?.(call) ?? []),
    }),
  };
}

async function failing<Result>(
  fault: Fault<Result>,
  clock: Pick<Clock, "after">,
  call: () => MaybePromise<Result>,
): Promise<Result> {
  const { lateMs, fails, error = new Error("connection reset") } = fault;
  if (lateMs !== undefined) await new Promise<void>((resolve) => clock.after(lateMs, resolve));
  if (fails === "before") throw error;
  if (fault.lies !== undefined) return fault.lies;
  const result = await call();
  if (fails === "after") throw error;
  return result;
}

const realTime: Pick<Clock, "after"> = {
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

const members = ["lateMs", "fails", "error", "lies"];

function assertPlan(plan: FaultPlan): void {
  assertOptions(plan, methods, "plan");
  for (const [method, faults] of Object.entries(plan)) {
    if (faults === undefined) continue;
    assertOptions(faults, Object.keys(faults), `plan.${method}`);
    for (const [call, fault] of Object.entries(faults)) {
      const option = `plan.${method}[${call}]`;
      const isCall = call === "*" || /^[1-9]\d*$/.test(call);
      assertThat(isCall, option, 'does not name a call. Use the number of a call, from 1, or "*"');
      assertFault(fault, option);
    }
  }
}

function assertFault(fault: Fault<unknown>, option: string): void {
  assertOptions(fault, members, option);
  const { lateMs = 0, fails, error, lies } = fault;
  const isDelay = Number.isInteger(lateMs) && lateMs >= 0 && lateMs < 2 ** 31;
  assertThat(isDelay, `${option}.lateMs`, "must be a whole number from 0 to 2147483647");
  const isKnown = fails === undefined || fails === "before" || fails === "after";
  assertThat(isKnown, `${option}.fails`, 'must be "before" or "after"');
  assertThat(!fails || lies === undefined, `${option}.lies`, "must be omitted if `fails` is set");
  assertThat(fails ?? error === undefined, `${option}.error`, "must be omitted without `fails`");
}

function assertThat(ok: unknown, option: string, rule: string): asserts ok {
  assertValid(ok, option, `\`${option}\` ${rule}.`);
}
