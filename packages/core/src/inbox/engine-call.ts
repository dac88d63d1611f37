import { WebhookError } from "../errors.js";
import type { DeadlineCall, MaybePromise } from "../store.js";

/** The default time limit of a call, in milliseconds. */
const longestMs = 10_000;

/**
 * For queues: settles like `call`, or rejects if it takes too long. A client that has no connection, or whose
 * connection has died silently, may never settle its calls.
 *
 * @param ms the longest wait, in milliseconds; default: 10,000
 * @throws WebhookError `queue_unavailable`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { within } from "@svc-webhooks/core/engine";
 *
 * const silent = new Promise(() => {});
 * await assert.rejects(within(silent, 10), { code: "queue_unavailable" });
 * ```
 */
export async function within<Result>(
  call: MaybePromise<Result>,
  ms: number = longestMs,
): Promise<Result> {
  let timer;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new WebhookError(
          "queue_unavailable",
          `The queue's server did not respond within ${ms / 1_000} s. Check that it runs and that the connection works. A change that was sent may still take effect.`,
        ),
      );
    }, ms);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * For queues: returns a function that loads a value once for all calls. If the load fails, or a call reaches its
 * deadline during the load, the next call loads again, because the connection of the first load may have died.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { shared } from "@svc-webhooks/core/engine";
 *
 * let loads = 0;
 * const settings = shared(async () => (loads += 1));
 * const call = { signal: new AbortController().signal };
 * await Promise.all([settings(call), settings(call)]);
 * assert.equal(loads, 1);
 * ```
 */
export function shared<Value>(
  load: () => Promise<Value>,
): (call: DeadlineCall) => MaybePromise<Value> {
  let loading: Promise<Value> | undefined;
  let loaded: { readonly value: Value } | undefined;
  return (call) => {
    if (loaded) return loaded.value;
    const own = (loading ??= load());
    const forget = () => {
      if (loading === own) loading = undefined;
    };
    // The signal is read only by a call that waits, because reading it creates it.
    call.signal.addEventListener("abort", forget, { once: true });
    return own.then(
      (value) => (loaded = { value }).value,
      (error: unknown) => {
        forget();
        throw error;
      },
    );
  };
}

/**
 * The minimum times between two reads of {@link roomGuard}, in milliseconds: the usual time, and the time while there
 * is too little space.
 */
const [readEveryMs, readSoonMs] = [5_000, 500];

/**
 * For queues: returns a function that refuses a job if it would leave less than `least` free space, so that workers
 * can always fetch and settle the stored jobs. If the space cannot be read, jobs are accepted: a full server refuses
 * them itself.
 *
 * @param read returns the free space, in bytes. Called at most every 5 s, or every 500 ms while there is too little
 *   space
 * @param least returns the space to keep free, in bytes
 * @param text the cause and its fix, in whole sentences
 * @returns a function that receives the size of each job, in bytes. It throws or rejects with a `WebhookError`
 *   `queue_full`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { roomGuard } from "@svc-webhooks/core/engine";
 *
 * const freeBytes = async () => 10_000;
 * const assertRoom = roomGuard(freeBytes, () => 4_000, "The disk is full. Free some of it.");
 * await assertRoom(5_000);
 * assert.throws(() => assertRoom(5_000), { code: "queue_full" });
 * ```
 */
export function roomGuard(
  read: () => MaybePromise<number>,
  least: () => number,
  text: string,
): (bytes: number) => MaybePromise<void> {
  let room = Infinity;
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  const refresh = async () => {
    try {
      room = await within(read(), 1_000);
    } catch {
      room = Infinity;
    }
    readAt = performance.now();
    reading = undefined;
  };
  const isTooMuch = (bytes: number) => room - bytes < least();
  const take = (bytes: number) => {
    if (isTooMuch(bytes)) throw new WebhookError("queue_full", text);
    // An estimate: other processes store jobs too, but only this process's jobs are subtracted until the next read.
    room -= bytes;
  };
  return (bytes) => {
    const isDue = performance.now() - readAt >= (isTooMuch(bytes) ? readSoonMs : readEveryMs);
    if (!isDue) return take(bytes);
    return (reading ??= refresh()).then(() => take(bytes));
  };
}
