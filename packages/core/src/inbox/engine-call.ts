import { WebhookError } from "../errors.js";
import type { DeadlineCall, MaybePromise } from "../store.js";

/** How long an operator waits for a queue, in milliseconds. */
const longestMs = 10_000;

/**
 * For queues: limits how long a call takes. A client without a connection, or with one that has died silently, may never
 * settle its calls.
 *
 * @param ms the longest wait, in milliseconds
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
          `The server of the queue did not respond within ${ms / 1_000} s. Check that it runs, and the connection of the queue. A change that was sent may still take place.`,
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
 * For queues: loads something once, which all calls share. A load that fails, or that one of its callers has given up,
 * is forgotten: the next call loads again, because the connection of the first may have died.
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
    // Only a call that waits reads the signal, which is created when it is read.
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

/** How often {@link roomGuard} reads the room, in milliseconds: usually, and while there is too little of it. */
const [readEveryMs, readSoonMs] = [5_000, 500];

/**
 * For queues: refuses jobs while less than `least` would be left of the storage, so that workers can always take and
 * settle the jobs that are stored. If the room cannot be read, jobs are stored: a server that is full refuses them itself.
 *
 * @param read returns the room that is left, in bytes. Called at most every 5 s, or every 500 ms while there is too little
 * @param least returns the room to keep, in bytes
 * @param text the cause and its fix, in whole sentences
 * @returns a function for the size of each job. It throws or rejects with a `WebhookError` `queue_full`
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
    // Other processes store jobs too, but each counts only its own until it reads the room again.
    room -= bytes;
  };
  return (bytes) => {
    const isDue = performance.now() - readAt >= (isTooMuch(bytes) ? readSoonMs : readEveryMs);
    if (!isDue) return take(bytes);
    return (reading ??= refresh()).then(() => take(bytes));
  };
}
