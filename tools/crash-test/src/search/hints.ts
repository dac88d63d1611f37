import type { History } from "../history.js";

/** The usual cause of an unexpected outcome without a fault, by the outcome's code. */
const byCode: Readonly<Record<string, string>> = {
  signature_mismatch:
    "The receiver and the sender probably use different secrets. Pass `world.secret`, or the secret that the command uses.",
  signature_missing: "The receiver expects the signature of a different sender.",
  store_unavailable:
    "The receiver's store fails or cannot be reached. In a test, pass `world.store`, or a store that uses `world.pool`.",
  handler_failed: "The handler rejects.",
  handler_timeout: "The handler takes longer than `handlerTimeoutMs`.",
  ignored: "No handler is registered for this event type.",
  parked: "The handler parks the event.",
  event_invalid: "The event does not match its schema.",
};

/** Returns the probable cause of an event's last outcome, and the last error that the receiver logged, if known. */
export function hintsFor({ attempts, lastError }: History, event: number): readonly string[] {
  const last = attempts.findLast((attempt) => attempt.event === event);
  const cause = last?.code === undefined ? byStatus(last?.status) : byCode[last.code];
  return [
    ...(cause === undefined ? [] : [cause]),
    ...(lastError === undefined ? [] : [`The last error: ${lastError}`]),
  ];
}

function byStatus(status: number | undefined): string | undefined {
  if (status === 404) return "The server has no route for POST requests at this path.";
  if (status === 401 || status === 403)
    return "The server rejects the request, probably because of its signature. Check the secret.";
  return status !== undefined && status >= 500
    ? "The server responds with an error. Its output may show why."
    : undefined;
}
