import { endWith, type Ending } from "../outcome.js";
import type { Visit } from "../visit.js";

/** Stage 4: exactly one handler, the most exact one. */
export function route(visit: Visit): Ending | undefined {
  const { exact, prefixes } = visit.config.on;
  const { type } = visit.event;
  let handler = exact.get(type);
  for (const [prefix, fallback] of prefixes) {
    if (type.length > prefix.length && type.startsWith(prefix)) handler ??= fallback;
  }
  if (!handler) return endWith("ignored");
  visit.handler = handler;
  return undefined;
}
