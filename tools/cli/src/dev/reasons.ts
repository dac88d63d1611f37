import type { OutcomeCode } from "@svc-webhooks/core";
import { isHandled, refusalOf } from "../lib/outcome.js";

/** Where to look for the cause. */
interface Places {
  /** The environment variable with the app's secret. */
  readonly variable: string;
  /** A page that has the response, as the rest of a sentence. Default: none. */
  readonly page?: string;
}

/**
 * Returns the reasons why an attempt did not succeed, as far as they can be determined.
 *
 * @param status the status of the response, or undefined if there was none
 * @param unanswered the reason if there was no response
 */
export function reasonsOf(
  status: number | undefined,
  code: OutcomeCode | undefined,
  unanswered: string,
  { variable, page = "" }: Places,
): readonly string[] {
  if (status === undefined) return [`Your app did not respond: ${unanswered}`];
  if (status === 404 && code === undefined)
    return [
      "Your app probably has no route for POST requests at this path. Mount the receiver there, or pass its URL with --to.",
    ];
  if (status >= 500 && code === undefined)
    return [
      `This response is not from an svc-webhooks receiver. Your framework, or something in front of it, probably failed. Check your app's output above${page}.`,
    ];
  if (code === "signature_mismatch")
    return [`Read the secret from ${variable}, which this command sets for your app.`].concat(
      refusalOf(status, code, true),
    );
  return status >= 300 || !isHandled(code) ? refusalOf(status, code, true) : [];
}
