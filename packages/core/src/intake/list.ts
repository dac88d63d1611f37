import { WebhookError } from "../errors.js";
import { RetryError } from "../handler-errors.js";
import { isObject } from "../lib/is-object.js";
import { isWhole } from "../lib/is-whole.js";
import type { ReceiveOptions } from "../options.js";
import type { Outcome } from "../outcome.js";
import { readOptions, type Complete, type OptionTable } from "../setup/table.js";
import type { MaybePromise } from "../store.js";
import { assertOption } from "../texts/assert.js";

/** The options of `acceptAll` and `each`. Errors: `invalid_option`, `unknown_option`. */
export interface ListOptions extends ReceiveOptions {
  /** How many events run at the same time, 1 … 1,000. Default 1: one after another, in the order of the list. */
  readonly concurrency?: number | undefined;
  /** The most events of a list, 1 … 1,000,000. Default 10,000. A longer list fails before any event is claimed. */
  readonly maxEvents?: number | undefined;
}

const optionTable: OptionTable<Complete<ListOptions>> = {
  concurrency: () => [1, isWhole, 1, 1_000],
  maxEvents: () => [10_000, isWhole, 1, 1_000_000],
  waitUntil: () => [undefined, () => true],
};

/** Returns the options with their defaults, checked. */
export const checked = (options: ListOptions = {}): Complete<ListOptions> =>
  readOptions(options, optionTable);

/** Accepts each event of a list. Resolves to their outcomes, in the order of the list. */
export async function acceptEach(
  accept: (event: unknown, options?: ReceiveOptions) => Promise<Outcome>,
  promised: MaybePromise<Iterable<unknown>>,
  options?: ListOptions,
): Promise<readonly Outcome[]> {
  const { concurrency, maxEvents } = checked(options);
  const events = await promised;
  // JavaScript callers may pass anything, and an iterator may be endless.
  const assertList = (ok: boolean) =>
    assertOption(ok, "invalid_option", "events", events, 0, maxEvents);
  assertList(isObject(events) && Symbol.iterator in events);
  const list: unknown[] = [];
  for (const event of events) assertList(list.push(event) <= maxEvents);
  const outcomes: Outcome[] = [];
  // All workers read from one iterator, so each takes the next event that none has taken.
  const entries = list.entries();
  const work = async () => {
    for (const [index, event] of entries) outcomes[index] = await accept(event, options);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, list.length) }, work));
  return outcomes;
}

/**
 * Throws unless all events of a list have a 2xx outcome: a `WebhookError` `list_incomplete` or, if an outcome has a
 * `retryAfterMs`, a `RetryError` with the longest.
 */
export function failUnlessDone(outcomes: readonly Outcome[]): void {
  const counts: Record<string, number> = {};
  let failed = 0;
  let waitMs = 0;
  for (const { code, status, retryAfterMs = 0 } of outcomes) {
    if (status < 300) continue;
    failed += 1;
    counts[code] = (counts[code] ?? 0) + 1;
    // Written so that NaN, from a handler or a store, does not hide the times of other events.
    if (retryAfterMs > waitMs) waitMs = retryAfterMs;
  }
  if (!failed) return;
  const codes = Object.entries(counts).map(([code, count]) => `${count} ${code}`);
  const cause = new WebhookError(
    "list_incomplete",
    `${failed} of ${outcomes.length} events are not done: ${codes.join(", ")}.`,
  );
  throw waitMs > 0 ? new RetryError({ retryAfterMs: waitMs, cause }) : cause;
}
