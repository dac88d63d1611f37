import fc from "fast-check";
import { isFull } from "../kit/sized.js";

// Values that are new in each run find faults that were there before a change. They are for full runs.
if (!isFull) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
