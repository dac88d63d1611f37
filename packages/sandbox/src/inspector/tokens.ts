import { randomBytes } from "node:crypto";

/** Tokens by which a form takes effect once, however often its page is loaded again. */
export interface Tokens {
  readonly issue: () => string;
  /** Returns true for the first use of a token. */
  readonly use: (token: string) => boolean;
}

/** Used tokens that are remembered. */
const mostUsed = 10_000;

export function createTokens(): Tokens {
  const used = new Set<string>();
  return {
    issue: () => randomBytes(12).toString("base64url"),
    use(token) {
      if (!/^[\w-]{16}$/.test(token) || used.has(token)) return false;
      used.add(token);
      if (used.size > mostUsed) used.delete(used.values().next().value ?? "");
      return true;
    },
  };
}
