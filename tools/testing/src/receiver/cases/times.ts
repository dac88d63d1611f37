import { tamper } from "../../tamper.js";
import type { ReceiverCase } from "./case.js";
import * as sources from "./sources.js";
import { refuses } from "./forgeries.js";

/** The case for senders that sign a time. */
export const times: readonly ReceiverCase[] = [
  {
    title: "refuses a delivery that was signed a day before or after it arrived",
    level: "should",
    source: sources.tolerance,
    fix: "A signature does not expire, so a captured delivery could be sent again later. Compare the signed time with the current time.",
    run: refuses(
      (delivery) => tamper.stale(delivery),
      (delivery) => tamper.future(delivery),
    ),
  },
];
