/** Whether every kind is tested, as in `npm run test:chaos`. */
const areAll = process.env["TEST_KINDS"] === "all";

/**
 * Returns the kinds of clients or environments for which a contract runs: `some` in `npm test`, and `all` in
 * `npm run test:chaos`.
 */
export const kindsOf = <Kind>(some: readonly Kind[], all: readonly Kind[]): readonly Kind[] =>
  areAll ? all : some;
