import type { ConfigErrorCode } from "../errors.js";
import type { OutcomeCode, Warning } from "../outcome.js";
import type { Scheme } from "../scheme.js";

/**
 * Returns the text of a `ConfigError`: the problem, its likely cause and the fix. `value` is the refused value,
 * which may be a key, so only a number is quoted; with `unknown_option`, it is the list of valid names. `min` and `max`
 * are the limits of a number.
 *
 * `#texts` selects the file that implements this type on the platform: bundles for edge platforms,
 * whose size is limited, leave the explanations out.
 */
export type Explain = (
  code: ConfigErrorCode,
  option: string,
  value?: unknown,
  min?: number,
  max?: number,
) => string;

/**
 * Returns the sentences that end a line: the likely cause and the fix of an outcome or a warning. `never_verified`
 * selects the cause of a refusal while no delivery has been verified yet. With a scheme, the sentences name its sender
 * and headers.
 */
export type Advise = (code: OutcomeCode | Warning | "never_verified", scheme?: Scheme) => string;

/** Returns whether a text is the API key in this process's environment; always false on edge platforms. */
export type IsApiKey = (text: string) => boolean;

/** Returns whether stdout is a terminal and `NODE_ENV` is not `production`; always false on edge platforms. */
export type IsDevelopment = () => boolean;

/** Returns a question that names the handler key closest to the type, or empty text if none is close. */
export type Suggest = (type: string, keys: readonly string[]) => string;

/** A scheme whose lines have texts of their own, in place of those that name a sender and its headers. */
export interface OwnTexts {
  readonly texts?: SchemeTexts | undefined;
}

/** Texts that end a line, by code. */
export type SchemeTexts = Partial<Record<OutcomeCode, readonly string[]>>;
