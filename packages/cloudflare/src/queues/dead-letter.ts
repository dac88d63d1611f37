import { errorText } from "@svc-webhooks/core/inbox";

/** A message in the dead-letter queue. To run its event again, send `job` to the inbox's queue as JSON. */
export interface DeadLetter {
  /** The error of the last attempt, at most 500 characters. */
  readonly error: string;
  /** The number of attempts that Cloudflare counted, including those that only waited. */
  readonly attempts: number;
  /** The message as the consumer received it: an `InboxJob`, unless another application wrote it. */
  readonly job: unknown;
}

/**
 * The maximum length of an error's text in characters, so that the dead letter of the largest job still fits into a
 * message.
 */
const longestError = 500;

export const letterOf = (error: unknown, attempts: number, job: unknown): DeadLetter => ({
  error: errorText(error)
    .slice(0, longestError)
    .replaceAll(/[\p{Cc}\p{Cs}\ufffd]/gu, " "),
  attempts,
  job,
});
