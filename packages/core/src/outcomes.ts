import { pageLink } from "./lib/page-link.js";
import type { OutcomeCode, Warning } from "./outcome.js";
import type { Scheme } from "./scheme.js";
import { lineTexts, otherTexts } from "./texts/outcome-texts.js";
import { schemeTexts } from "./texts/scheme-texts.js";

/** The explanation of an outcome or a warning. Each text consists of whole sentences. */
export interface OutcomeText {
  /** A description of the outcome or the warning. */
  readonly happened: string;
  /** The likely cause; empty if nothing is wrong. */
  readonly cause: string;
  /** The action to take. */
  readonly fix: string;
  /** The address of the page that explains the code. */
  readonly link: string;
}

export { characterName, hiddenCharacters } from "./lib/hidden-characters.js";
export { nearest } from "./lib/nearest.js";
export { pageLink } from "./lib/page-link.js";

/**
 * The explanations of all outcomes and warnings, by code. Receivers on edge platforms do not import them, because
 * the size of bundles is limited there.
 */
export const outcomeTexts: Readonly<Record<OutcomeCode | Warning, OutcomeText>> =
  Object.fromEntries(
    Object.entries({ ...lineTexts, ...otherTexts }).map(([code, [happened, cause, fix]]) => [
      code,
      { happened, cause, fix, link: pageLink("docs/troubleshooting", code) },
    ]),
  ) as Record<OutcomeCode | Warning, OutcomeText>;

/**
 * Returns the explanation of a code, such as the one in the body of a receiver's response, or undefined if the text is
 * not a code of this package.
 *
 * @param scheme the receiver's scheme, so that the texts name its sender and headers; default: the service
 *
 * @example
 * ```ts
 * import { outcomeText } from "svc-webhooks/outcomes";
 *
 * const text = outcomeText("signature_mismatch");
 * console.log(text?.happened, text?.fix, text?.link);
 * ```
 */
export function outcomeText(code: string, scheme?: Scheme): OutcomeText | undefined {
  if (!Object.hasOwn(outcomeTexts, code)) return undefined;
  const known = code as OutcomeCode | Warning;
  const texts: Partial<Record<typeof known, readonly string[]>> = scheme ? schemeTexts(scheme) : {};
  const text = outcomeTexts[known];
  const own = texts[known];
  if (!own) return text;
  const [happened = "", cause = "", fix = ""] = own;
  return { ...text, happened, cause, fix };
}
