import type { OutcomeText } from "@svc-webhooks/core/outcomes";
import type { SenderMistake } from "@svc-webhooks/explain/senders";

/** The cause of a refusal and the fix, in whole sentences. */
type Advice = Pick<OutcomeText, "cause" | "fix">;

/** Returns the cause of a refusal and the fix. If the mistake is known, the fix is worded for the command line. */
export const adviceOf = (text: OutcomeText, mistake: SenderMistake | undefined): Advice =>
  mistake ? { cause: mistake.cause, fix: fixOf(mistake) } : text;

function fixOf({ id, fix, sender, body_difference }: SenderMistake): string {
  if (sender !== undefined) {
    return `Use --scheme ${sender}, and the ${sender} scheme in the receiver.`;
  }
  if (id === "stale") {
    return `${fix} If this delivery was captured earlier, use svc-webhooks verify --at with its arrival time, or sign it again with svc-webhooks replay --resign.`;
  }
  return id === "body_changed" || body_difference
    ? "Pass the bytes exactly as they arrived, both to the receiver and to this command. No parser, editor or formatter may change them."
    : fix;
}
