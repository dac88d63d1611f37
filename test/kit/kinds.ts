const wanted = process.env["TEST_KINDS"];

/**
 * Returns the kinds of clients or environments for which a contract runs: `some` in `npm test`, the others in
 * `npm run test:chaos`, and `all` with `TEST_KINDS=all`.
 */
export const kindsOf = <Kind>(some: readonly Kind[], all: readonly Kind[]): readonly Kind[] => {
  if (wanted === "all") return all;
  return wanted === "others" ? all.filter((kind) => !some.includes(kind)) : some;
};
