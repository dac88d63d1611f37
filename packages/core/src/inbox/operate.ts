import { assertOptions, assertValid } from "../checks.js";
import { systemClock, type Clock } from "../clock.js";
import { WebhookError } from "../errors.js";
import { sourceHeader } from "../intake/scheme.js";
import { isFilled } from "../lib/text.js";
import { longestDelayMs } from "../lib/times.js";
import type { MaybePromise } from "../store.js";
import type { InboxAdmin, InboxEntry, InboxQuery, InboxState, ReleaseOptions } from "./admin.js";
import type { InboxJob } from "./job.js";
import { wait } from "./run-job.js";

const states: readonly unknown[] = ["ready", "delayed", "active", "dead"] satisfies InboxState[];

/** Asserts that an option is undefined, Infinity or a whole number of at least `least`. */
function assertCount(value: number | undefined, option: string, least: number): void {
  const isCount = value === undefined || value === Infinity || Number.isSafeInteger(value);
  assertValid(
    isCount && (value ?? Infinity) >= least,
    option,
    `\`${option}\` must be a whole number from ${least}.`,
  );
}

/**
 * For queues: validates the parameter of `InboxAdmin.list`.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { assertQuery } from "@svc-webhooks/core/engine";
 *
 * assertQuery({ state: "dead", limit: 10 });
 * assert.throws(() => assertQuery({ state: "failed" } as never), { option: "query.state" });
 * ```
 */
export function assertQuery(query: InboxQuery): void {
  assertOptions(query, ["state", "type", "after", "limit"], "query");
  const { state, type, after, limit } = query;
  assertValid(
    states.includes(state),
    "query.state",
    '`query.state` must be "ready", "delayed", "active" or "dead".',
  );
  for (const [name, value] of Object.entries({ type, after })) {
    const option = `query.${name}`;
    const isText = value === undefined || typeof value === "string";
    assertValid(isText, option, `\`${option}\` must be a string.`);
  }
  assertCount(limit, "query.limit", 0);
}

function assertRelease(options: ReleaseOptions): void {
  assertOptions(options, ["perSecond", "limit", "stopAfter", "type", "signal"]);
  const { perSecond, limit, stopAfter, type, signal } = options;
  const isRate = typeof perSecond === "number" && perSecond >= 0.001 && perSecond <= 1_000;
  assertValid(isRate, "perSecond", "`perSecond` must be a number from 0.001 to 1,000.");
  assertCount(limit, "limit", 0);
  assertCount(stopAfter, "stopAfter", 1);
  assertValid(type === undefined || typeof type === "string", "type", "`type` must be a string.");
  const isSignal = signal === undefined || signal instanceof AbortSignal;
  assertValid(isSignal, "signal", "`signal` must be an AbortSignal.");
}

/** How often {@link releaseLetters} counts the jobs that have failed again, in milliseconds. */
const countEveryMs = 200;

/**
 * For queues: runs dead letters again, one after another, at the rate in `options`, until none is left, `limit` is
 * reached, `stopAfter` jobs have failed again, or `signal` is aborted.
 *
 * @param letters returns the dead letters of a type (undefined: of all types) that exist when it is called, oldest
 *   first, without those that die again after their release
 * @param countFailed returns how many of the released jobs have failed again
 * @throws ConfigError (as a rejection) `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { releaseLetters } from "@svc-webhooks/core/engine";
 *
 * async function* letters() {
 *   yield { id: "1" };
 * }
 * const retry = async () => true;
 * const countFailed = () => 0;
 * const result = await releaseLetters(letters, retry, countFailed, { perSecond: 1_000 });
 * assert.deepEqual(result, { released: 1, failedAgain: 0 });
 * ```
 */
export async function releaseLetters(
  letters: (type: string | undefined) => AsyncIterable<{ readonly id: string }>,
  retry: InboxAdmin["retry"],
  countFailed: (released: readonly string[]) => MaybePromise<number>,
  options: ReleaseOptions,
  clock: Clock = systemClock,
): Promise<{ readonly released: number; readonly failedAgain: number }> {
  assertRelease(options);
  const { perSecond, limit = Infinity, stopAfter = Infinity, type, signal } = options;
  const released: string[] = [];
  const began = clock.monotonic();
  let countedAt = -Infinity;
  const hasStopped = async () => {
    if (stopAfter === Infinity || clock.monotonic() - countedAt < countEveryMs) return false;
    countedAt = clock.monotonic();
    return (await countFailed(released)) >= stopAfter;
  };
  for await (const { id } of letters(type)) {
    if (released.length >= limit) break;
    const dueAt = began + (released.length * 1_000) / perSecond;
    const ms = dueAt - clock.monotonic();
    if (ms > 0) await wait(clock, Math.min(ms, longestDelayMs), signal);
    if (signal?.aborted || (await hasStopped())) break;
    if (await retry(id)) released.push(id);
  }
  return { released: released.length, failedAgain: await countFailed(released) };
}

/**
 * For queues: returns the members of an entry that come from the data of its job. The data may be anything, because
 * another application may have stored it.
 *
 * @param storedAt when the job was stored, in epoch milliseconds; replaces a missing `receivedAt`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { entryOf } from "@svc-webhooks/core/engine";
 *
 * const { key, body } = entryOf({ key: "a", body: "{}" }, Date.now());
 * assert.equal(key, "a");
 * assert.deepEqual(body(), new TextEncoder().encode("{}"));
 * ```
 */
export function entryOf(
  data: unknown,
  storedAt: number,
): Pick<InboxEntry, "key" | "type" | "deliveryId" | "source" | "receivedAt" | "body"> {
  const { key, type, deliveryId, receivedAt, headers, body, base64 } = Object(data) as {
    readonly [Name in keyof InboxJob]?: unknown;
  };
  const { [sourceHeader]: source } = Object(headers) as Readonly<Record<string, unknown>>;
  return {
    key: textOf(key),
    type: textOf(type),
    deliveryId: textOf(deliveryId),
    ...(isFilled(source) && { source }),
    receivedAt: typeof receivedAt === "number" ? receivedAt : storedAt,
    body: () => bytesOf(textOf(body), base64 === true),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function bytesOf(text: string, isBase64: boolean): Uint8Array {
  if (isBase64) {
    try {
      return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    } catch {
      // Another application has stored text that is not base64. The operator sees it unchanged.
    }
  }
  return new TextEncoder().encode(text);
}

/** Matches the characters that PostgreSQL cannot store: NUL and lone surrogates. */
const unstorable = /[\0\p{Cs}]/u;

/**
 * For queues: asserts that `partitionBy` returned undefined, or 1 to 500 characters that PostgreSQL can store.
 *
 * @throws WebhookError `invalid_partition`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { assertPartition } from "@svc-webhooks/core/engine";
 *
 * assertPartition("order_1");
 * assert.throws(() => assertPartition(""), { code: "invalid_partition" });
 * ```
 */
export function assertPartition(partition: unknown): asserts partition is string | undefined {
  if (partition === undefined) return;
  // Longer text may not fit into an index entry of PostgreSQL.
  const isText = typeof partition === "string" && partition !== "" && partition.length <= 500;
  if (isText && !unstorable.test(partition)) return;
  // The value may be a promise, and an unhandled rejection would end the process.
  void Promise.resolve(partition).catch(() => {});
  throw new WebhookError(
    "invalid_partition",
    "`partitionBy` must return a string of 1 to 500 characters without NUL and without lone surrogates, or undefined for an event without order. It must not return a promise.",
  );
}
