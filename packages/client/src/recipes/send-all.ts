import { ConnectionError, InvalidRequestError, SvcError } from "../errors.js";
import {
  check,
  checkNames,
  checkSignal,
  resolveLimits,
  type KeyedRequestOptions,
  type RequestOptions,
} from "../options.js";
import type { EmailResult, KeyedEmail, SendAllOptions, SentEmail } from "../recipes.js";
import type { EmailRequest } from "../resources.js";

type Send = (email: EmailRequest, options: KeyedRequestOptions) => Promise<SentEmail>;

/**
 * Sends emails, several at a time, and returns one result for each, in the order of the list.
 *
 * @throws ClientConfigError `invalid_option`. If an email fails, its result contains the error
 */
export async function sendAll(
  send: Send,
  emails: readonly KeyedEmail[],
  options: SendAllOptions = {},
): Promise<readonly EmailResult[]> {
  checkNames(options, ["concurrency", "onProgress", "signal"]);
  const { concurrency = 10, onProgress, ...requestOptions } = options;
  check(Array.isArray(emails), "`emails` must be a list.");
  check(
    Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 100,
    "`concurrency` must be a whole number from 1 to 100.",
  );
  check(
    onProgress === undefined || typeof onProgress === "function",
    "`onProgress` must be a function.",
  );
  checkSignal(requestOptions);
  resolveLimits(requestOptions);
  const results: EmailResult[] = [];
  const left = emails.keys();
  let done = 0;
  const work = async () => {
    for (const index of left) {
      const result = await resultOf(send, emails, index, requestOptions);
      results[index] = result;
      done += 1;
      try {
        await onProgress?.({ done, total: emails.length, index, result });
      } catch {
        // Ignored, because the results and their keys matter more than a progress report.
      }
    }
  };
  // All workers share one iterator, so that each email is sent by only one of them.
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

async function resultOf(
  send: Send,
  emails: readonly KeyedEmail[],
  index: number,
  options: RequestOptions,
): Promise<EmailResult> {
  let idempotencyKey: string | undefined;
  try {
    const { idempotencyKey: key, ...email } = emails[index] as KeyedEmail;
    idempotencyKey = key ?? crypto.randomUUID();
    return { ok: await send(email, { ...options, idempotencyKey }) };
  } catch (error) {
    // Adds the key, because the error lacks it if the email was rejected before it was sent.
    if (error instanceof SvcError) return { error: Object.assign(error, { idempotencyKey }) };
    const facts = { param: `emails.${index}`, cause: error, idempotencyKey };
    return {
      error:
        idempotencyKey === undefined
          ? new InvalidRequestError({
              code: "invalid_request",
              message: `\`emails.${index}\` must be an email.`,
              ...facts,
            })
          : new ConnectionError({
              code: "connection_failed",
              message: `The request for \`emails.${index}\` failed: see \`cause\`.`,
              ...facts,
            }),
    };
  }
}
