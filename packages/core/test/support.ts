import {
  createReceiver,
  memoryStore,
  sign,
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
  type StoredDelivery,
} from "../src/index.js";

export const secret = "whsec_test";

/** A clock that only `advance` and `jump` move. */
export class FakeClock implements Clock {
  #now = 1_700_000_000_000;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#now + delayMs, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** The number of pending timers. */
  get timers(): number {
    return this.#timers.length;
  }

  /** Moves time, fires due timers in order, and lets pending promise reactions run. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
    await settled();
  }

  /** Moves time without firing timers, like a blocked event loop or a frozen process. */
  jump(ms: number): void {
    this.#now += ms;
  }
}

/** Lets all work finish that needs neither time nor input. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export const eventBody = (type = "email.sent", more: object = {}): string =>
  JSON.stringify({ type, ...more });

/** A signed delivery, as an adapter passes it. */
export async function signed(
  body: string | Uint8Array = eventBody(),
  headers: Readonly<Record<string, string>> = {},
  key: string | Uint8Array = secret,
): Promise<StoredDelivery> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return {
    method: "POST",
    headers: {
      "x-svc-signature": await sign(bytes, key),
      "x-svc-delivery-id": "dlv_1",
      ...headers,
    },
    body: bytes,
  };
}

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

/** A promise that a test settles. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
  readonly fail: (error: unknown) => void;
}

export function gate(): Gate {
  let open = () => {};
  let fail: (error: unknown) => void = () => {};
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { opened, open, fail };
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
  const clock = new FakeClock();
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
