import { bytes } from "./cases/bytes.js";
import type { ReceiverCase } from "./cases/case.js";
import { forgeries } from "./cases/forgeries.js";
import { runs } from "./cases/runs.js";

/** One case for each known mistake of receivers. */
export const receiverCases: readonly ReceiverCase[] = [...bytes, ...forgeries, ...runs];
