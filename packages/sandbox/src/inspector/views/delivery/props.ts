import type { attemptDetail, deliveryDetail } from "../../../read/queries.js";
import type { View } from "../../view.js";

export type DeliveryWhole = ReturnType<typeof deliveryDetail>;
export type AttemptWhole = Awaited<ReturnType<typeof attemptDetail>>;

export interface DeliveryProps {
  readonly view: View;
  readonly delivery: DeliveryWhole;
}

export interface AttemptProps extends DeliveryProps {
  readonly attempt: AttemptWhole | undefined;
}
