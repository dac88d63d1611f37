/** Whether loads and properties have their full size, as in `npm run test:chaos`. */
export const isFull: boolean = process.env["TEST_SIZE"] === "full";

/**
 * Returns the size of a load, or the number of runs of a property: one for `npm test`, and one for `npm run
 * test:chaos`.
 */
export const sized = (small: number, full: number): number => (isFull ? full : small);
