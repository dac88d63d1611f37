import type { ReceiverConfigErrorCode } from "../errors.js";
import type { OutcomeCode, Warning } from "../outcome.js";
import type { Scheme } from "../scheme.js";

/**
 * Returns the text of a `ReceiverConfigError`: what was found, its likely cause and the fix. `found` is
 * the refused value, which may be a key and is never quoted; with `unknown_option` it is the list of the
 * names that exist. `min` and `max` are the limits of a number.
 *
 * `#texts` selects the file that implements this type on the platform: bundles for edge platforms,
 * whose size is limited, leave the explanations out.
 */
export type Explain = (
  code: ReceiverConfigErrorCode,
  option: string,
  found?: unknown,
  min?: number,
  max?: number,
) => string;

/**
 * Returns the sentences that end a line: the likely cause and the fix of an outcome or a warning.
 * `never_verified` is a cause of refused requests. With a scheme, they name its sender and headers.
 */
export type Advise = (code: OutcomeCode | Warning | "never_verified", scheme?: Scheme) => string;

/** Returns whether a text is the API key in this process's environment. */
export type IsApiKey = (text: string) => boolean;

/** Returns whether a developer reads the output of this process in a terminal. */
export type IsDevelopment = () => boolean;

/** Returns a question naming the handler key closest to the type, or nothing. */
export type Suggest = (type: string, keys: readonly string[]) => string;
