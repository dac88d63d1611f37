const { SVC_SUITE = "" } = process.env;
if (!["", "full"].includes(SVC_SUITE)) {
  throw new Error(`SVC_SUITE is "${SVC_SUITE}". Set it to "full", or unset it.`);
}

/** Whether the suites have their full size, which takes hours in all. */
export const isFull: boolean = SVC_SUITE === "full";

/** Returns the size of a load, a property or a chaos run, or its seeds: `full` if `SVC_SUITE=full`, otherwise `small`. */
export const sized = <T>(small: T, full: T): T => (isFull ? full : small);

/** Returns each n-th entry of a list, beginning with the first, or all of them if `SVC_SUITE=full`. */
export const eachNth = <T>(all: readonly T[], n: number): readonly T[] =>
  sized(
    all.filter((_entry, index) => index % n === 0),
    all,
  );

/** Returns the first and the last entry of a dimension, such as versions, or all of them if `SVC_SUITE=full`. */
export const ends = <T>(all: readonly T[]): readonly T[] =>
  sized(
    all.filter((_entry, index) => index === 0 || index === all.length - 1),
    all,
  );
