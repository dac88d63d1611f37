import { explain, type Explanation } from "@svc-webhooks/explain";
import { explainRequest, type SenderMistake } from "@svc-webhooks/explain/senders";
import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Received } from "./server.js";

const windowMs = 60_000;
const mostInWindow = 10;

export type Explainer = (body: Uint8Array, signature: string) => Promise<Explanation | undefined>;

/**
 * Returns a function that explains wrong signatures, one at a time and at most ten a minute, if that takes little work.
 * Anyone who can reach the port can send them, and a full search can take seconds. Above the limit, the function
 * resolves to undefined.
 *
 * @param now returns the milliseconds of a monotonic clock
 */
export const createExplainer = (
  secrets: string,
  previousSecrets: readonly string[],
  now?: () => number,
): Explainer =>
  limited(
    (body, signature) => explain({ body, signature, secrets, previousSecrets, quick: true }),
    now,
  );

/** Explains the refusal of a request of another sender. */
export type SenderExplainer = (received: Received) => Promise<SenderMistake | undefined>;

/** Returns a function that explains refusals, with the limit of {@link createExplainer}. */
export const createSenderExplainer = (
  sender: Sender,
  secret: string,
  previousSecrets: readonly string[],
): SenderExplainer =>
  limited(async ({ at, headers, body }) => {
    if (!body) return undefined;
    const request = { at: Date.parse(at), headers, body, secret, previousSecrets };
    return (await explainRequest({ ...request, scheme: sender.scheme, quick: true })).mistake;
  });

/** Runs calls of `run` one at a time and at most ten a minute. Resolves to undefined above that. */
function limited<Args extends readonly unknown[], Result>(
  run: (...args: Args) => Promise<Result>,
  now: () => number = () => performance.now(),
): (...args: Args) => Promise<Result | undefined> {
  let last: Promise<unknown> = Promise.resolve();
  let started: readonly number[] = [];
  return async (...args) => {
    const at = now();
    started = started.filter((one) => at - one < windowMs);
    if (started.length >= mostInWindow) return undefined;
    started = [...started, at];
    const result = last.then(() => run(...args));
    last = result.catch(() => {});
    return result;
  };
}
