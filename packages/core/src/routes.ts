import { check } from "./check.js";
import type { Handler } from "./handler.js";

/** Handlers whose events were typed where they were registered. */
export type RouteTable = Readonly<Record<string, Handler<unknown> | undefined>>;

/** Handlers apart by kind, so that an event whose type is `constructor` or `email.*` is just an event. */
export interface Routes {
  readonly exact: ReadonlyMap<string, Handler<unknown>>;
  /** By prefix, `email.` for `email.*` and the empty one for `*`, longest first. */
  readonly prefixes: ReadonlyMap<string, Handler<unknown>>;
}

/** @throws ReceiverConfigError `invalid_handler` */
export function readRoutes(on: RouteTable): Routes {
  const exact = new Map<string, Handler<unknown>>();
  const prefixes = new Map<string, Handler<unknown>>();
  const handlers = Object.entries(on ?? {}).filter(([, handler]) => handler !== undefined);
  const invalid = "invalid_handler";
  check(handlers.length > 0, "on", "an object with a handler", invalid);
  for (const [key, handler] of handlers.toSorted(([a], [b]) => b.length - a.length)) {
    check(
      typeof handler === "function" && /^([^*]+(\.\*)?|\*)$/.test(key),
      `on[${JSON.stringify(key)}]`,
      'a function under an event type, "prefix.*" or "*"',
      invalid,
    );
    if (key.endsWith("*")) prefixes.set(key.slice(0, -1), handler);
    else exact.set(key, handler);
  }
  return { exact, prefixes };
}
