import { WebhookError } from "../errors.js";
import { DeadlineError, withDeadline } from "../lib/deadline.js";
import type { Config } from "../setup/config.js";
import type { DeadlineCall, MaybePromise } from "../store.js";

/**
 * Makes a store call for an operator, within the deadline `storeTimeouts.release`.
 *
 * @throws WebhookError `store_timeout`, and the store's error (as rejections)
 */
export async function operatorCall<T>(
  { clock, storeTimeouts }: Config,
  name: "forget" | "peek",
  work: (call: DeadlineCall) => MaybePromise<T>,
): Promise<T> {
  try {
    return await withDeadline(clock, storeTimeouts.release, `store.${name}`, work);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    const text = `${error.message}. Check the store, or raise \`storeTimeouts.release\`.`;
    throw new WebhookError("store_timeout", text, { cause: error });
  }
}
