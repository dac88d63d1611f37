import type { DeliveryState } from "./delivery-state.js";
import { isFilled } from "../lib/text.js";
import { endWith, type Ending } from "./ending.js";

// 1 to 256 visible ASCII characters without the comma, which joins repeated headers.
const deliveryIdPattern = /^[!-+\--~]{1,256}$/;

/** Sets the delivery id, or returns an ending if the id is missing or malformed. */
export function setDeliveryId(state: DeliveryState, id: string | undefined): Ending | undefined {
  // A scheme may return any value. It is not converted to text, because different objects with the same text would
  // share a record.
  if (!isFilled(id)) return endWith("delivery_id_missing");
  if (!deliveryIdPattern.test(id)) return endWith("delivery_id_malformed");
  state.context.deliveryId = id;
  return undefined;
}
