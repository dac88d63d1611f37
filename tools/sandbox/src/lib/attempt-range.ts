/** Returns the numbers of the first and last stored attempts, or 1 and 0 if there are none. */
export const attemptRange = (
  attempts: readonly { readonly n: number }[],
): { readonly first: number; readonly last: number } => ({
  first: attempts[0]?.n ?? 1,
  last: attempts.at(-1)?.n ?? 0,
});
