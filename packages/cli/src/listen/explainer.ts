import { explain, type Explanation } from "@svc-webhooks/explain";

const windowMs = 60_000;
const mostInWindow = 10;

export type Explainer = (body: Uint8Array, signature: string) => Promise<Explanation | undefined>;

/**
 * Returns a function that explains wrong signatures, one at a time and at most ten a minute. Anyone who can reach the
 * port can send them, and explaining one can take seconds. Above the limit, the function resolves to undefined.
 *
 * @param now returns the milliseconds of a monotonic clock
 */
export function createExplainer(
  secrets: string,
  previousSecrets: readonly string[],
  now: () => number = () => performance.now(),
): Explainer {
  let last: Promise<unknown> = Promise.resolve();
  let started: readonly number[] = [];
  return async (body, signature) => {
    const at = now();
    started = started.filter((one) => at - one < windowMs);
    if (started.length >= mostInWindow) return undefined;
    started = [...started, at];
    const explanation = last.then(() => explain({ body, signature, secrets, previousSecrets }));
    last = explanation.catch(() => {});
    return explanation;
  };
}
