import type { attemptDetail, deliveryDetail } from "../../../read/queries.js";
import type { View } from "../../view.js";

export interface DeliveryProps {
  readonly view: View;
  readonly delivery: ReturnType<typeof deliveryDetail>;
}

export interface AttemptProps extends DeliveryProps {
  readonly attempt: Awaited<ReturnType<typeof attemptDetail>>;
}
