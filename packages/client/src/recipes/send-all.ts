import { SvcError } from "../errors.js";
import { check, checkNames, type KeyedRequestOptions } from "../options.js";
import type { EmailResult, KeyedEmail, SendAllOptions, SentEmail } from "../recipes.js";
import type { EmailRequest } from "../resources.js";

type Send = (email: EmailRequest, options: KeyedRequestOptions) => Promise<SentEmail>;

/**
 * Sends emails, several at a time, and returns one result for each in the order of the list.
 *
 * @throws ClientConfigError `invalid_option`; an email that fails is a result
 */
export async function sendAll(
  send: Send,
  emails: readonly KeyedEmail[],
  options: SendAllOptions = {},
): Promise<readonly EmailResult[]> {
  checkNames(options, ["concurrency", "onProgress", "signal"]);
  const { concurrency = 10, onProgress, ...given } = options;
  check(Array.isArray(emails), "`emails` must be a list.");
  check(
    Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 100,
    "`concurrency` must be a whole number from 1 to 100.",
  );
  const results: EmailResult[] = [];
  const left = emails.entries();
  let done = 0;
  const work = async () => {
    for (const [index, { idempotencyKey, ...email }] of left) {
      const result = await resultOf(send(email, { ...given, idempotencyKey }));
      results[index] = result;
      done += 1;
      try {
        await onProgress?.({ done, total: emails.length, index, result });
      } catch {
        // The emails and their keys matter more than a progress bar.
      }
    }
  };
  // All lanes take from one iterator.
  await Promise.all(Array.from({ length: concurrency }, work));
  return results;
}

async function resultOf(sending: Promise<SentEmail>): Promise<EmailResult> {
  try {
    return { ok: await sending };
  } catch (error) {
    if (error instanceof SvcError) return { error };
    throw error;
  }
}
