import { randomBytes } from "node:crypto";

/** Used tokens that are remembered. */
const mostUsed = 10_000;

/** Tokens by which a form takes effect once, however often its page is loaded again. */
export function createTokens() {
  const used = new Set<string>();
  return {
    issue: () => randomBytes(12).toString("base64url"),
    /** Returns true for the first use of a token. */
    use(token: string): boolean {
      if (!/^[\w-]{16}$/.test(token) || used.has(token)) return false;
      used.add(token);
      if (used.size > mostUsed) used.delete(used.values().next().value ?? "");
      return true;
    },
  };
}
