import { randomBytes } from "node:crypto";

/** The most used tokens that are remembered. */
const mostUsed = 10_000;

/** Manages tokens that make a form take effect only once, however often its page is reloaded. */
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
