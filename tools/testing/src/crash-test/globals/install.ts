import { AsyncResource, createHook, type AsyncHook } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";
import type * as nodeTimers from "node:timers";
import type * as nodeTimersPromises from "node:timers/promises";
import { inside, type Inside } from "../virtual/inside.js";
import { virtualDate } from "./date.js";
import { host } from "./host.js";
import { virtualScheduler, virtualTimers, virtualTimersPromises } from "./timers.js";
import { notePlace } from "../surface/source.js";
import { isCompression, isHeldBack, isUnseen } from "./access.js";

/*
 * Inside of a history, these globals are virtual. Code outside of any history, such as other tests in this process,
 * reaches the real globals through the same names.
 */

type Restore = () => void;

/** The global objects of the code under test and of PGlite. */
const realms: readonly (typeof globalThis)[] = host === globalThis ? [host] : [globalThis, host];

function replace<Target extends object>(target: Target, replacements: Partial<Target>): Restore {
  const previous = Object.keys(replacements).map(
    (name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const,
  );
  for (const [name, value] of Object.entries(replacements)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const [name, descriptor] of previous) {
      if (descriptor) Object.defineProperty(target, name, descriptor);
      else Reflect.deleteProperty(target, name);
    }
  };
}

function virtualRandom({ Math, crypto }: typeof globalThis): readonly Restore[] {
  const { random } = Math;
  const getRandomValues = crypto.getRandomValues.bind(crypto);
  const randomUUID = crypto.randomUUID.bind(crypto);
  const fill = <Values extends NodeJS.TypedArray | DataView | null>(values: Values): Values => {
    const current = inside.getStore();
    if (!current || !ArrayBuffer.isView(values)) {
      return getRandomValues(values as Uint8Array<ArrayBuffer>) as unknown as Values;
    }
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    for (let index = 0; index < bytes.length; index += 1)
      bytes[index] = Math.floor(current.random() * 256);
    return values;
  };
  const uuid = () => {
    if (!inside.getStore()) return randomUUID();
    const bytes = fill(new Uint8Array(16));
    bytes[6] = (Number(bytes[6]) & 0x0f) | 0x40;
    bytes[8] = (Number(bytes[8]) & 0x3f) | 0x80;
    const hex = Buffer.from(bytes).toString("hex");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") as ReturnType<
      typeof randomUUID
    >;
  };
  return [
    replace(Math, { random: () => inside.getStore()?.random() ?? random() }),
    replace(crypto, { getRandomValues: fill, randomUUID: uuid }),
  ];
}

function virtualNetwork(): Restore {
  const { fetch } = globalThis;
  return replace(globalThis, {
    fetch: (input, init) => (inside.getStore()?.fetch ?? fetch)(input, init),
  });
}

function virtualTime(): Restore {
  const require = createRequire(import.meta.url);
  const timers = require("node:timers") as typeof nodeTimers;
  const promises = require("node:timers/promises") as typeof nodeTimersPromises;
  const promised = virtualTimersPromises(promises);
  const restore = [
    ...realms.map((realm) => replace(realm, virtualTimers(realm, promised))),
    replace(timers, virtualTimers(timers, promised)),
    replace(promises.scheduler, virtualScheduler(promised)),
    replace(promises, promised),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const undo of restore) undo();
    syncBuiltinESMExports();
  };
}

/** Watches for access that is not a crossing, and for operations that the scheduler must wait for. */
function watchResources(): Restore {
  const owners = new Map<number, Set<number>>();
  const hold = (id: number, { pendingOperations }: Inside) => {
    pendingOperations.add(id);
    owners.set(id, pendingOperations);
  };
  const hook: AsyncHook = createHook({
    init(id, type, _trigger, resource: object) {
      const current = inside.getStore();
      if (type === "PROMISE") {
        if (current?.isTraced && current.process) notePlace(resource);
        return;
      }
      if (!current) return;
      if (current.process && isUnseen(type)) current.onUnseen(type);
      if (isHeldBack(type)) hold(id, current);
      if (isCompression(type)) onWrite(resource as Compression, () => hold(id, current));
    },
    // Deletes the id before the callback, because the callback may start the stream's next write under the same id.
    before(id) {
      if (owners.size === 0) return;
      owners.get(id)?.delete(id);
      owners.delete(id);
    },
  }).enable();
  return () => void hook.disable();
}

/** The handle of a stream of `node:zlib`. */
interface Compression {
  write: (...args: unknown[]) => unknown;
}

/** Calls `listener` before each write of a stream, because the stream's own resource exists even while it is idle. */
function onWrite(stream: Compression, listener: () => void): void {
  const { write } = stream;
  stream.write = (...args) => {
    listener();
    return write.apply(stream, args);
  };
}

/** Returns the access, errors and timers that a crash test cannot see on this runtime. Empty on Node. */
export function limitsOfRuntime(): readonly string[] {
  const isNode = process.versions["bun"] === undefined;
  return [
    ...(canWatch ? [] : ["sockets and files: this runtime cannot show them"]),
    ...(isNode
      ? []
      : [
          "uncaught errors, and timers that are imported from `node:timers`: this runtime cannot redirect them",
        ]),
  ];
}

/** Whether this runtime notifies hooks of asynchronous resources. */
const canWatch: boolean = (() => {
  let isNotified = false;
  const hook = createHook({
    init() {
      isNotified = true;
    },
  }).enable();
  new AsyncResource("svc-webhooks").emitDestroy();
  hook.disable();
  return isNotified;
})();

/**
 * Passes uncaught errors and unhandled rejections to the history whose code caused them. Errors of other code reach the
 * usual listeners.
 */
function virtualErrors(): Restore {
  const emit = host.process.emit.bind(host.process) as (
    event: string,
    ...args: unknown[]
  ) => boolean;
  const emitOutside = (event: string, ...args: unknown[]): boolean => {
    const current = inside.getStore();
    if (!current || !/^(?:unhandledRejection|uncaughtException)/.test(event)) {
      return emit(event, ...args);
    }
    if (!event.endsWith("Monitor")) current.onUncaught(args[0]);
    return true;
  };
  const restore = replace(host.process, { emit: emitOutside as typeof process.emit });
  const restoreMicrotasks = virtualMicrotasks();
  return () => {
    restoreMicrotasks();
    restore();
  };
}

/** Reports errors of microtasks to their history, because Node 20 and 22 emit them outside of the history's context. */
function virtualMicrotasks(): Restore {
  const { queueMicrotask } = globalThis;
  return replace(globalThis, {
    queueMicrotask(run) {
      const current = inside.getStore();
      if (!current || typeof run !== "function") return queueMicrotask(run);
      queueMicrotask(() => {
        try {
          run();
        } catch (error) {
          current.onUncaught(error);
        }
      });
    },
  });
}

function virtualDates(realm: typeof globalThis): readonly Restore[] {
  const { prototype } = realm.Date;
  const date = virtualDate(realm.Date);
  return [
    replace<object & { constructor: unknown }>(prototype, { constructor: date }),
    replace(realm, { Date: date }),
  ];
}

let uses = 0;
let restoreAll: readonly Restore[] = [];

/** Makes the globals virtual inside of histories. Returns a function that restores them after the last crash test. */
export function installGlobals(): Restore {
  uses += 1;
  if (uses === 1) {
    restoreAll = [
      ...realms.flatMap((realm) => [
        ...virtualDates(realm),
        replace(realm.performance, virtualPerformance(realm)),
        ...virtualRandom(realm),
      ]),
      virtualNetwork(),
      replace(AbortSignal, { timeout: virtualTimeout(AbortSignal.timeout.bind(AbortSignal)) }),
      virtualTime(),
      watchResources(),
      virtualErrors(),
    ];
  }
  let isInstalled = true;
  return () => {
    if (!isInstalled) return;
    isInstalled = false;
    uses -= 1;
    if (uses > 0) return;
    for (const restore of restoreAll.toReversed()) restore();
    restoreAll = [];
  };
}

function virtualPerformance({ performance }: typeof globalThis): Pick<typeof performance, "now"> {
  const now = performance.now.bind(performance);
  return { now: () => inside.getStore()?.time.now() ?? now() };
}

const virtualTimeout =
  (timeout: typeof AbortSignal.timeout): typeof AbortSignal.timeout =>
  (delayMs) => {
    const current = inside.getStore();
    if (!current) return timeout(delayMs);
    const controller = new AbortController();
    const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    current.time.after(delayMs, () => controller.abort(reason), current.process);
    return controller.signal;
  };
