import type { Handler } from "../handler.js";
import { enqueueOf, type StoreInQueue } from "./queued-handler.js";
import { isObject } from "../lib/is-object.js";
import { assertOption } from "../texts/assert.js";

/**
 * Handlers by key. Their events are `unknown` here, because TypeScript has checked them where `createReceiver` is
 * called.
 */
export type RouteTable = Readonly<Record<string, Handler<unknown> | undefined>>;

/**
 * Handlers separated by the kind of key, in Maps, because the type of an event may be any text: the type `email.*` must
 * not find a pattern, and `constructor` must not find a member of `Object.prototype`.
 */
export interface Routes {
  readonly exact: ReadonlyMap<string, Handler<unknown>>;
  /** Handlers by prefix, longest first: `email.` for `email.*`, and the empty prefix for `*`. */
  readonly prefixes: ReadonlyMap<string, Handler<unknown>>;
  /** Whether each handler runs from a queue, which keeps the deliveries of parked events. */
  readonly allEnqueue: boolean;
}

/**
 * Groups handlers by the kind of their keys, and lets the handlers' queues check the options.
 *
 * @throws ConfigError `invalid_handler`, `invalid_option`
 */
export function parseRoutes(
  on: RouteTable,
  options: Parameters<NonNullable<StoreInQueue["check"]>>[0],
): Routes {
  const exact = new Map<string, Handler<unknown>>();
  const prefixes = new Map<string, Handler<unknown>>();
  const longestFirst = Object.entries(isObject(on) ? on : {}).toSorted(
    ([a], [b]) => b.length - a.length,
  );
  for (const [key, handler] of longestFirst) {
    if (handler === undefined) continue;
    assertOption(
      typeof handler === "function" && /^([^*]+(\.\*)?|\*)$/.test(key),
      "invalid_handler",
      `on[${JSON.stringify(key)}]`,
      handler,
    );
    enqueueOf(handler)?.check?.(options);
    if (key.endsWith("*")) prefixes.set(key.slice(0, -1), handler);
    else exact.set(key, handler);
  }
  assertOption(exact.size + prefixes.size > 0, "invalid_handler", "on", on);
  const allEnqueue = [...exact.values(), ...prefixes.values()].every(enqueueOf);
  return { exact, prefixes, allEnqueue };
}
