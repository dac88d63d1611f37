import { headerNames } from "@svc-webhooks/core/adapter";
import { explain } from "@svc-webhooks/explain";
import { explainRequest, type RequestExplanation } from "@svc-webhooks/explain/senders";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { headerOf } from "../lib/delivery-headers.js";
import type { Arrived } from "../schemes/arrived.js";

const windowMs = 60_000;
const mostInWindow = 10;

/** Explains why a request is refused. Resolves to undefined if the limit of explanations is reached. */
export type Explainer = (
  arrived: Arrived,
) => Promise<Pick<RequestExplanation, "mistake"> | undefined>;

/**
 * Returns a function that explains refusals, one at a time and at most ten a minute. It looks only for mistakes that
 * can be found with little work. These limits are necessary because anyone who can reach the port can cause refusals,
 * and a full search can take seconds.
 *
 * @param now returns the milliseconds of a monotonic clock
 */
export const createExplainer = (
  sender: Sender,
  secret: string,
  previousSecrets: readonly string[],
  now?: () => number,
): Explainer =>
  limited(async (arrived) => {
    const known = { previousSecrets, quick: true };
    if (sender !== service)
      return explainRequest({ ...arrived, ...known, scheme: sender.scheme, secret });
    const signature = headerOf(arrived.headers, headerNames.signature);
    return explain({ ...known, body: arrived.body, signature, secrets: secret });
  }, now);

/**
 * Returns a function that calls `run`, one call at a time and at most ten times a minute. Above this limit, it resolves
 * to undefined without calling `run`.
 */
function limited(run: Explainer, now: () => number = () => performance.now()): Explainer {
  let last: Promise<unknown> = Promise.resolve();
  let started: readonly number[] = [];
  return async (arrived) => {
    const at = now();
    started = started.filter((start) => at - start < windowMs);
    if (started.length >= mostInWindow) return undefined;
    started = [...started, at];
    const result = last.then(() => run(arrived));
    last = result.catch(() => {});
    return result;
  };
}
