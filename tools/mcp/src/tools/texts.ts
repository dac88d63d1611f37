import { outcomeText } from "@svc-webhooks/core/outcomes";

interface Sentences {
  readonly happened: string;
  readonly cause?: string;
  readonly fix?: string;
}

/** Returns the sentences that a receiver logs about an outcome. For an unknown code, `happened` is empty. */
export function sentencesOf(code: string): Sentences {
  const { happened, cause, fix } = outcomeText(code) ?? { happened: "", cause: "", fix: "" };
  return { happened, ...(cause && { cause }), ...(fix && { fix }) };
}

/** Returns an outcome with its sentences, or `otherwise` if the receiver did not state an outcome. */
export const resultOf = (
  code: string | undefined,
  otherwise: Sentences & { readonly code: string },
): Sentences & { readonly code: string } =>
  code === undefined ? otherwise : { code, ...sentencesOf(code) };

/**
 * Returns `otherwise`, or a neutral sentence if `id` means that the connection failed, which may not be the receiver's
 * mistake.
 */
export const happenedOf = (id: string, otherwise: string): string =>
  ["tls", "unreachable"].includes(id) ? "The receiver cannot be reached." : otherwise;
