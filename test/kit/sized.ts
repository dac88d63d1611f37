const { SVC_CHAOS = "" } = process.env;
if (!["", "full"].includes(SVC_CHAOS)) {
  throw new Error(`SVC_CHAOS is "${SVC_CHAOS}". Set it to "full", or unset it.`);
}

/** Whether loads, properties and chaos runs have their full size, which takes more than half an hour in all. */
export const isFull: boolean = SVC_CHAOS === "full";

/** Returns the size of a load, a property or a chaos run, or its seeds: `full` if `SVC_CHAOS=full`, otherwise `small`. */
export const sized = <T>(small: T, full: T): T => (isFull ? full : small);
