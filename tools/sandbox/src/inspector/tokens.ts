import { randomBytes } from "node:crypto";

/** The maximum number of used tokens that are remembered. */
const mostUsed = 10_000;

/** Manages single-use tokens. With a token, a form takes effect only once, even if its response is reloaded. */
export function createTokens() {
  const used = new Set<string>();
  return {
    issue: () => randomBytes(12).toString("base64url"),
    /** Marks a token as used. Returns whether it has the form of a token and was unused. */
    use(token: string): boolean {
      if (!/^[\w-]{16}$/.test(token) || used.has(token)) return false;
      used.add(token);
      if (used.size > mostUsed) used.delete(used.values().next().value ?? "");
      return true;
    },
  };
}
