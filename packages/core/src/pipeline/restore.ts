import { isBytes } from "../lib/bytes.js";
import type { DeliveryState } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";
import { headerLookup } from "./header-lookup.js";
import { accept } from "./verify.js";

/** Replaces stages 1 and 2 for a delivery that passed them before it was stored. */
export function restore(state: DeliveryState): Ending | undefined {
  const { headers, body } = state.delivery;
  if (!isBytes(body)) return endWith("body_unavailable", "resume() needs a StoredDelivery");
  state.header = headerLookup(headers);
  state.bytes = body;
  state.context.bodyBytes = body.length;
  return accept(state);
}
