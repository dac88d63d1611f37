/** Whether loads and properties have their full size, as in `npm run test:chaos`. */
export const isFull: boolean = process.env["TEST_SIZE"] === "full";

/**
 * Returns the size of a load, the number of runs of a property, or the kinds of clients: one value for `npm test`, and
 * one for `npm run test:chaos`.
 */
export const sized = <T>(small: T, full: T): T => (isFull ? full : small);
