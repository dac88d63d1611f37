import type { DeliveryState } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";

/** Stage 4: selects the most specific handler. */
export function route(state: DeliveryState): Ending | undefined {
  const { exact, prefixes } = state.config.on;
  const { type } = state.event;
  let handler = exact.get(type);
  for (const [prefix, fallback] of prefixes) {
    if (type.length > prefix.length && type.startsWith(prefix)) handler ??= fallback;
  }
  if (!handler) return endWith("ignored");
  state.handler = handler;
  return undefined;
}
