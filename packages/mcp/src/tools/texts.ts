import { outcomeText } from "@svc-webhooks/core/outcomes";

/** Returns the sentences about an outcome, as the receiver's log has them. */
export function sentencesOf(code: string): {
  readonly happened: string;
  readonly cause?: string;
  readonly fix?: string;
} {
  const { happened, cause, fix } = outcomeText(code) ?? { happened: "", cause: "", fix: "" };
  return { happened, ...(cause && { cause }), ...(fix && { fix }) };
}
