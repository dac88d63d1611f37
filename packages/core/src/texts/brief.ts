import type { Explain } from "./explain.js";

/** The page that the error links to explains each code. */
export const explain: Explain = (_code, option) => `\`${option}\` is invalid.`;
