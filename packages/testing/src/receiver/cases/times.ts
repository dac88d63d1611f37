import { tamper } from "../../tamper.js";
import type { ReceiverCase } from "./case.js";
import { refuses } from "./forgeries.js";

/** The case for senders that sign a time. */
export const times: readonly ReceiverCase[] = [
  {
    title: "refuses a delivery that was signed a day before it arrived, or after",
    fix: "A signature stays valid, so a captured delivery could be sent again later: compare the signed time with the clock.",
    async run(probe) {
      await refuses((delivery) => tamper.stale(delivery))(probe);
      await refuses((delivery) => tamper.future(delivery))(probe);
    },
  },
];
