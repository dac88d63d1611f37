import { check } from "../check.js";
import type { Handler, Handlers } from "../handler.js";
import type { Visit } from "../visit.js";
import { Ending } from "../outcome.js";

/** Handlers apart by kind, so that an event whose type is `constructor` or `email.*` is just an event. */
export interface Routes {
  readonly exact: ReadonlyMap<string, Handler>;
  /** By prefix, `email.` for `email.*` and the empty one for `*`, longest first. */
  readonly prefixes: ReadonlyMap<string, Handler>;
}

/** Stage 4: exactly one handler, the most exact one. */
export function route(visit: Visit): Ending | undefined {
  const { exact, prefixes } = visit.config.routes;
  const { type } = visit.event;
  let handler = exact.get(type);
  for (const [prefix, fallback] of prefixes) {
    if (type.length > prefix.length && type.startsWith(prefix)) handler ??= fallback;
  }
  if (!handler) return new Ending("ignored");
  visit.handler = handler;
  return undefined;
}

/** @throws ReceiverConfigError `invalid_handler` */
export function readRoutes(on: Handlers): Routes {
  const exact = new Map<string, Handler>();
  const prefixes = new Map<string, Handler>();
  const keys = Object.keys(on ?? {}).toSorted((a, b) => b.length - a.length);
  const invalid = "invalid_handler";
  check(keys.length > 0, "on", "an object with a handler", invalid);
  for (const key of keys) {
    const handler = on[key];
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
