import { bytes } from "./cases/bytes.js";
import type { ReceiverCase } from "./cases/case.js";
import { forgeries } from "./cases/forgeries.js";
import { genuine } from "./cases/genuine.js";
import { runs } from "./cases/runs.js";

/** One case for each known mistake of receivers. The first has what the others need. */
export const receiverCases: readonly ReceiverCase[] = [genuine, ...bytes, ...forgeries, ...runs];
