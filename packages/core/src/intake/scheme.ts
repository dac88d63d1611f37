import { intakeRisk, intakeTexts } from "#texts";
import type { Scheme } from "../scheme.js";
import type { OwnTexts } from "../texts/texts.js";

/**
 * The headers of an accepted event. A stored delivery and a job contain them in place of a sender's headers, so `resume`
 * knows where the event came from. No request can set them, because a receiver keeps only the headers of its own scheme.
 */
export const sourceHeader = "intake-source";
export const idHeader = "intake-id";
export const typeHeader = "intake-type";

/** Stands for a function that only the stages of a receiver call. */
export const unused = () => "" as never;

/** Returns the scheme of accepted events, which only identifies them. */
export function intakeScheme(sources: readonly string[]): Scheme & OwnTexts {
  return {
    name: "intake",
    headers: [sourceHeader, idHeader, typeHeader],
    form: "",
    notice: `Events from ${sources.join(", ")} are accepted without verification.${intakeRisk}`,
    texts: intakeTexts,
    inspect: unused,
    importKey: unused,
    identify({ header }) {
      const source = header(sourceHeader);
      return sources.includes(source)
        ? { source, deliveryId: header(idHeader) }
        : // No other scheme may end a delivery with this code.
          {
            code: "misconfigured" as never,
            hint: `"${source}" is not in sources`,
          };
    },
  };
}
