import { outcomeText } from "@svc-webhooks/core/outcomes";

interface Sentences {
  readonly happened: string;
  readonly cause?: string;
  readonly fix?: string;
}

/** Returns the sentences about an outcome, as the receiver's log has them. */
export function sentencesOf(code: string): Sentences {
  const { happened, cause, fix } = outcomeText(code) ?? { happened: "", cause: "", fix: "" };
  return { happened, ...(cause && { cause }), ...(fix && { fix }) };
}

/** Returns an outcome with its sentences, or `otherwise` if the receiver stated none. */
export const resultOf = (
  code: string | undefined,
  otherwise: Sentences & { readonly code: string },
): Sentences & { readonly code: string } =>
  code === undefined ? otherwise : { code, ...sentencesOf(code) };

/** Returns what happened, for a finding that may be no mistake of the receiver. */
export const happenedOf = (id: string, otherwise: string): string =>
  ["tls", "unreachable"].includes(id) ? "The receiver cannot be reached." : otherwise;
