import type * as nodeTimersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { inside, type Inside } from "../virtual/inside.js";

type Callback = (...args: unknown[]) => void;

/** The timers whose numbers the code has read. The numbers are negative, unlike the numbers of real timers. */
const numbered = new Map<number, WeakRef<VirtualTimer>>();
let lastId = 0;

/** A pending virtual timer, with the members of a `Timeout` of Node. */
class VirtualTimer {
  #cancel: () => void = () => {};
  readonly #start: () => () => void;
  /** The timer's number, by which code can clear the timer too, as in Node. Set when the code first reads it. */
  #id: number | undefined;

  constructor(start: () => () => void) {
    this.#start = start;
    this.refresh();
  }

  refresh(): this {
    this.#cancel();
    this.#cancel = this.#start();
    return this;
  }

  cancel(): void {
    this.#cancel();
  }

  close(): this {
    this.cancel();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.toPrimitive](): number {
    if (this.#id === undefined) {
      this.#id = lastId -= 1;
      numbered.set(this.#id, new WeakRef(this));
    }
    return this.#id;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

interface Timers {
  setTimeout: typeof setTimeout;
  setInterval: typeof setInterval;
  setImmediate: typeof setImmediate;
  clearTimeout: typeof clearTimeout;
  clearInterval: typeof clearInterval;
  clearImmediate: typeof clearImmediate;
}

/** Returns a delay as Node reads it: 1 ms if the value is below 1, above 2^31 − 1 or not a number. */
const delayOf = (delayMs: unknown): number => {
  const delay = Math.trunc(Number(delayMs));
  return delay >= 1 && delay <= 2_147_483_647 ? delay : 1;
};

const never = () => () => {};

const once = (
  { time, process, isDatabase }: Inside,
  run: Callback,
  delayMs: number,
  args: unknown[],
) =>
  new VirtualTimer(
    isDatabase ? never : () => time.after(delayOf(delayMs), () => run(...args), process),
  );

function repeatedly({ time, process }: Inside, run: Callback, delayMs: number, args: unknown[]) {
  const pauseMs = delayOf(delayMs);
  const timer = new VirtualTimer(() =>
    time.after(
      pauseMs,
      () => {
        timer.refresh();
        run(...args);
      },
      process,
    ),
  );
  return timer;
}

/** Runs `run` in the next turn of the event loop, without moving virtual time. */
function nextTurn(
  { time, process }: Inside,
  run: Callback,
  args: unknown[],
  setReal: typeof setImmediate,
) {
  return new VirtualTimer(() => {
    let isCanceled = false;
    time.pendingTurns += 1;
    setReal(() => {
      time.pendingTurns -= 1;
      time.activity += 1;
      if (isCanceled) return;
      if (process) process.deliver(() => run(...args));
      else run(...args);
    });
    return () => {
      isCanceled = true;
    };
  });
}

const clearing =
  <Timer>(clear: (timer: Timer) => void) =>
  (timer: Timer) => {
    const virtual = typeof timer === "number" ? numbered.get(timer)?.deref() : timer;
    if (virtual instanceof VirtualTimer) virtual.cancel();
    else clear(timer);
  };

/** Wraps real timers so that they are virtual inside of a history, as are their `promisify` variants. */
export function virtualTimers(real: Timers, promised: object): Timers {
  const timers = virtualCallbackTimers(real);
  const { setTimeout, setImmediate } = promised as TimersPromises;
  Object.defineProperty(timers.setTimeout, promisify.custom, { value: setTimeout });
  Object.defineProperty(timers.setImmediate, promisify.custom, { value: setImmediate });
  return timers;
}

function virtualCallbackTimers(real: Timers): Timers {
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } =
    real;
  const timers = {
    setTimeout(run: Callback, delayMs = 0, ...args: unknown[]) {
      const current = inside.getStore();
      return current ? once(current, run, delayMs, args) : setTimeout(run, delayMs, ...args);
    },
    setInterval(run: Callback, delayMs = 0, ...args: unknown[]) {
      const current = inside.getStore();
      return current ? repeatedly(current, run, delayMs, args) : setInterval(run, delayMs, ...args);
    },
    setImmediate(run: Callback, ...args: unknown[]) {
      const current = inside.getStore();
      return current ? nextTurn(current, run, args, setImmediate) : setImmediate(run, ...args);
    },
    clearTimeout: clearing(clearTimeout),
    clearInterval: clearing(clearInterval),
    clearImmediate: clearing(clearImmediate),
  };
  return timers as unknown as Timers;
}

interface Options {
  readonly signal?: AbortSignal;
}

interface TimersPromises {
  setTimeout: <Value = void>(delayMs?: number, value?: Value, options?: Options) => Promise<Value>;
  setImmediate: <Value = void>(value?: Value, options?: Options) => Promise<Value>;
  setInterval: <Value = void>(
    delayMs?: number,
    value?: Value,
    options?: Options,
  ) => AsyncIterable<Value>;
}

/** Returns the error with which functions of `node:timers/promises` reject if their signal is aborted. */
const aborted = ({ reason }: AbortSignal): Error =>
  Object.assign(new Error("The operation was aborted", { cause: reason }), {
    name: "AbortError",
    code: "ABORT_ERR",
  });

const waiting = <Value>(
  current: Inside,
  delayMs: number,
  value: Value,
  signal: AbortSignal | undefined,
): Promise<Value> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const onAbort = () => {
      cancel();
      if (signal) reject(aborted(signal));
    };
    const onTime = () => {
      signal?.removeEventListener("abort", onAbort);
      resolve(value);
    };
    const cancel = current.time.after(delayMs, onTime, current.process);
    signal?.addEventListener("abort", onAbort, { once: true });
  });

async function* ticking<Value>(
  current: Inside,
  delayMs: number,
  value: Value,
  signal: AbortSignal | undefined,
): AsyncGenerator<Value> {
  for (;;) yield await waiting(current, delayMs, value, signal);
}

/** Wraps the functions of `node:timers/promises` so that they are virtual inside of a history. */
export function virtualTimersPromises(real: object): Partial<typeof nodeTimersPromises> {
  const { setTimeout, setImmediate, setInterval } = real as TimersPromises;
  const timers: TimersPromises = {
    setTimeout: (delayMs = 1, value, options) => {
      const current = inside.getStore();
      return current
        ? waiting(current, delayOf(delayMs), value as never, options?.signal)
        : setTimeout(delayMs, value, options);
    },
    setImmediate: (value, options) => {
      const current = inside.getStore();
      return current
        ? waiting(current, 0, value as never, options?.signal)
        : setImmediate(value, options);
    },
    setInterval: (delayMs = 1, value, options) => {
      const current = inside.getStore();
      return current
        ? ticking(current, delayOf(delayMs), value as never, options?.signal)
        : setInterval(delayMs, value, options);
    },
  };
  return timers as Partial<typeof nodeTimersPromises>;
}

/** Returns the methods of `scheduler` in `node:timers/promises`, based on the virtual functions. */
export const virtualScheduler = ({
  setTimeout,
  setImmediate,
}: Partial<typeof nodeTimersPromises>): Pick<
  typeof nodeTimersPromises.scheduler,
  "wait" | "yield"
> => ({
  wait: (delayMs, options) => Promise.resolve(setTimeout?.(delayMs, undefined, options)),
  yield: () => Promise.resolve(setImmediate?.()),
});
