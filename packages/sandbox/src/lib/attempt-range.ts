/** The numbers of the first and the last attempt that are kept, 1 and 0 if there is none. */
export const attemptRange = (
  attempts: readonly { readonly n: number }[],
): { readonly first: number; readonly last: number } => ({
  first: attempts[0]?.n ?? 1,
  last: attempts.at(-1)?.n ?? 0,
});
