import type { SenderMistake } from "@svc-webhooks/explain/senders";

/** Returns the fix of a mistake, worded for users of the command line. */
export function remedyOf({ id, remedy, sender, body_difference }: SenderMistake): string {
  if (sender !== undefined) {
    return `Use --scheme ${sender}, and the ${sender} scheme in the receiver.`;
  }
  if (id === "stale") {
    return `${remedy} If this delivery was captured earlier, use svc-webhooks verify --at with its arrival time, or sign it again with svc-webhooks replay --resign.`;
  }
  return id === "body_changed" || body_difference
    ? "Pass the bytes exactly as they arrived, both to the receiver and to this command. No parser, editor or formatter may change them."
    : remedy;
}
