import { assertOptions, assertValid } from "./checks.js";
import type { Clock } from "./clock.js";
import type { ForgetTarget } from "./delivery.js";
import { WebhookError, type ConfigError } from "./errors.js";
import { isFilled } from "./lib/text.js";
import { earliestExpiryMs } from "./lib/times.js";
import type { Receiver } from "./receiver.js";
import type { MaybePromise, RecordState } from "./store.js";

/** A delivery as the service lists it. The interface document shows no list, so the fields and values are assumed. */
export interface ServiceDelivery {
  readonly delivery_id: string;
  /** `pending`, `attempting`, `succeeded` or `failed`. */
  readonly status: string;
  /** The creation time, in ISO 8601 format with an offset. */
  readonly created_at: string;
}

/** A delivery in a sender's list, as `map` returns it. */
export interface ListedDelivery extends ForgetTarget {
  /**
   * `succeeded`: the sender has received a response that it counts as success; `pending`, `attempting`, `failed`: it
   * has not. Any other status counts as `unknown`.
   */
  readonly status: string;
  /** When the sender created the delivery: a Date, ISO 8601 with an offset, or epoch milliseconds. */
  readonly createdAt: Date | string | number;
}

/**
 * The options of {@link reconcile}. A value of the wrong type or outside its range causes the error `invalid_option`,
 * and an option that does not exist causes `unknown_option`.
 */
export interface ReconcileOptions<Item> {
  /**
   * The deliveries as the sender lists them, newest first. The list is read only slightly further back than `since`.
   */
  readonly list: AsyncIterable<Item> | Iterable<Item>;
  /** The receiver of these deliveries. Its store needs `peek`. */
  readonly receiver: Pick<Receiver, "peek">;
  /**
   * Deliveries that were created since this time are compared. The time must be in the past, but less than `retainMs`
   * ago: records are not kept longer, so older handled deliveries would be reported as lost.
   */
  readonly since: Date;
  /**
   * Returns the id, the status and the creation time of a listed delivery. With `dedupeBy` `"event"` or `"body"`, the
   * body is required too (`missing_body`). Default: reads `delivery_id`, `status` and `created_at`.
   */
  readonly map?: ((item: Item) => ListedDelivery) | undefined;
  /**
   * The age from which a delivery is judged, in milliseconds, 0 or more. It should exceed the time during which the
   * sender retries. Default 900,000 (15 min).
   */
  readonly graceMs?: number | undefined;
  /**
   * Returns whether a queue still has this delivery, as a waiting job or a dead letter. Called in sequence for each
   * delivery without a record, and for each acknowledged one whose run has failed. Default: no delivery is in a queue.
   */
  readonly queued?: ((deliveryId: string, item: Item) => MaybePromise<boolean>) | undefined;
  /**
   * Requests another attempt at a missing delivery from the sender, and throws if the sender refuses. Called in
   * sequence. An error with the `status` 409 counts as `skipped`, and one with any other 4xx except 401, 403 and 429 as
   * `refused`. Any other error ends the requests, but not the comparison. Default: no request.
   */
  readonly redeliver?: ((deliveryId: string, item: Item) => unknown) | undefined;
  /**
   * The maximum number of successful calls of `redeliver`, 0 or more. Requests that the sender refuses do not count.
   * Default 1,000.
   */
  readonly maxRedeliver?: number | undefined;
  /** Called and awaited after every 1,000 compared deliveries. If it throws, `reconcile` rejects. */
  readonly onProgress?: ((progress: ReconcileProgress) => unknown) | undefined;
  /** The time source, such as the manual clock of a sandbox. Default: the system's clock. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** The progress of a comparison. */
export interface ReconcileProgress {
  /** The number of deliveries since `since` that were read so far. */
  readonly sent: number;
  /** The creation time of the delivery read last. */
  readonly at: Date;
}

/** Requires `map` unless the items are deliveries as the service lists them. */
export type NeedsMap<Item> = [Item] extends [ServiceDelivery]
  ? unknown
  : { readonly map: (item: Item) => ListedDelivery };

/**
 * The result of {@link reconcile}. `done`, `running`, `failed` and `parked` are the numbers of deliveries whose records
 * have that state; `failed` excludes acknowledged deliveries. `sent` is the sum of `young`, `unknown`, `done`,
 * `running`, `failed`, `parked`, `queued`, `missingCount` and `lostCount`.
 */
export interface ReconcileReport extends Readonly<Record<RecordState, number>> {
  /** The number of listed deliveries that were created since `since`. */
  readonly sent: number;
  /** The number of deliveries younger than `graceMs`, which are not judged. */
  readonly young: number;
  /** The number of deliveries with a status that `ListedDelivery` does not define, which are not judged. */
  readonly unknown: number;
  /** The number of deliveries in a queue that have no record, or whose run failed although they are acknowledged. */
  readonly queued: number;
  /**
   * The number of deliveries that are neither acknowledged, nor recorded, nor in a queue. Another attempt can still
   * handle them.
   */
  readonly missingCount: number;
  /** The ids of the newest 10,000 missing deliveries. */
  readonly missing: readonly string[];
  /**
   * The number of deliveries that are acknowledged, but neither handled nor in a queue, as far as the store and
   * `queued` show: the store or the queue has probably lost data. These deliveries cannot be requested again.
   */
  readonly lostCount: number;
  /** The ids of the newest 10,000 lost deliveries. */
  readonly lost: readonly string[];
  /** When the oldest missing delivery was created. */
  readonly oldestMissingAt?: Date | undefined;
  /** When the newest delivery was created. If that is longer ago than usual, the sender may have stopped sending. */
  readonly newestSentAt?: Date | undefined;
  /** When the oldest delivery since `since` was created. */
  readonly oldestSentAt?: Date | undefined;
  /**
   * Whether the list had a delivery from before `since`. If not, the sender has no such delivery or no longer lists it,
   * and the comparison covers only the time from `oldestSentAt`.
   */
  readonly reachedSince: boolean;
  /** The number of missing deliveries that `redeliver` has requested. */
  readonly redelivered: number;
  /** The number of missing deliveries that cannot be requested now (409), such as those with a running attempt. */
  readonly skipped: number;
  /**
   * The number of missing deliveries for which the sender has refused another attempt (4xx except 401, 403, 409 and
   * 429).
   */
  readonly refused: number;
  /** The error that ended the requests of `redeliver`. */
  readonly redeliverError?: unknown;
}

/** The report while deliveries are added to it. */
type Counted = { -readonly [Name in keyof ReconcileReport]: ReconcileReport[Name] } & {
  readonly missing: string[];
  readonly lost: string[];
};

const optionNames = [
  "list",
  "receiver",
  "since",
  "map",
  "graceMs",
  "queued",
  "redeliver",
  "maxRedeliver",
  "onProgress",
  "clock",
] as const satisfies readonly (keyof ReconcileOptions<unknown>)[];

/** Returns a report without any deliveries. */
const emptyReport = (): Counted => ({
  sent: 0,
  young: 0,
  unknown: 0,
  done: 0,
  running: 0,
  failed: 0,
  parked: 0,
  queued: 0,
  missingCount: 0,
  missing: [],
  lostCount: 0,
  lost: [],
  reachedSince: false,
  redelivered: 0,
  skipped: 0,
  refused: 0,
});

/** The 4xx statuses that end the requests, because any further request would probably fail with the same status. */
const ending = new Set<unknown>([401, 403, 429]);

/** The maximum number of deliveries compared with one call of `peek`. */
const batchSize = 1_000;
const mostListed = 10_000;
const dayMs = 86_400_000;
const statuses = new Set(["pending", "attempting", "succeeded", "failed"]);

function serviceDelivery(item: unknown): ListedDelivery {
  const {
    delivery_id: deliveryId,
    status,
    created_at: createdAt,
  } = Object(item) as ServiceDelivery;
  return { deliveryId, status, createdAt };
}

/**
 * Validates a listed delivery and returns its fields.
 *
 * @throws WebhookError `unreadable_list`, `clock_behind`
 */
function parsed(listed: ListedDelivery, now: number) {
  const { deliveryId, status, createdAt, body, headers } = Object(listed) as ListedDelivery;
  // A time without an offset is refused, because it would be read as local time. A leap second, which `Date` cannot
  // represent, becomes the end of the second before it.
  const time =
    typeof createdAt === "string"
      ? /^\d{4}-\d\d-\d\d[T ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(createdAt) &&
        createdAt.replace(/(?<=:59:)60[.\d]*/, "59.999")
      : (typeof createdAt === "number" || createdAt instanceof Date) && createdAt;
  const at = new Date(time || 0);
  const atMs = Number(at);
  // Refuses times in seconds, which would look older than `since` and end the loop, and times in microseconds, which
  // would look too recent to judge.
  const isTime = atMs > earliestExpiryMs && atMs < 2 * now;
  if (!isFilled(deliveryId) || !isFilled(status) || !isTime) {
    throw new WebhookError(
      "unreadable_list",
      "A listed delivery lacks an id, a status or a valid time. Pass `map`, which returns { deliveryId, status, createdAt }; a time is a Date, ISO 8601 with an offset, or epoch milliseconds.",
    );
  }
  if (atMs > now + dayMs) {
    throw new WebhookError(
      "clock_behind",
      `${deliveryId} was created more than a day after \`clock\`. Set this machine's clock.`,
    );
  }
  return { deliveryId, status, at, atMs, body, headers };
}

type Listed<Item> = ReturnType<typeof parsed> & { readonly item: Item };

/** Asserts that each of these options passes the check `is`. `kind` describes a valid value. */
function assertEach(values: object, kind: string, is: (value: never) => unknown): void {
  for (const [option, value] of Object.entries(values)) {
    assertValid(is(value as never), option, `\`${option}\` must be ${kind}.`);
  }
}

const isFunction = (value: unknown) => typeof value === "function";
const isOptional = (value: unknown) => value === undefined || isFunction(value);
const isCount = (value: unknown) => typeof value === "number" && value >= 0;
const isClock = (value: unknown) => isFunction((Object(value) as Partial<Clock>).now);
const isIterable = (value: unknown) =>
  Symbol.asyncIterator in Object(value) || Symbol.iterator in Object(value);

/** Returns whether `value` is a receiver. A store has `peek` too, but cannot find a record by its delivery id. */
function isReceiver(value: unknown): boolean {
  const { peek, claim } = Object(value) as Readonly<Record<string, unknown>>;
  return isFunction(peek) && !claim;
}

const notNewestFirst = (deliveryId: string) =>
  new WebhookError(
    "not_newest_first",
    `${deliveryId} is newer than the delivery before it. Pass a list that is sorted, newest first.`,
  );

/**
 * Throws the error of `peek`. If a body is missing, throws an error that names `map` instead, because the receiver's
 * error names only `body`.
 */
function rethrow(error: unknown): never {
  if ((Object(error) as Partial<ConfigError>).option !== "body") throw error;
  throw new WebhookError(
    "missing_body",
    'The receiver finds a record by the body of its delivery (`dedupeBy`), but a listed delivery has no readable body. Return `body` from `map`, or use `dedupeBy: "delivery"`.',
    { cause: error },
  );
}

/**
 * Compares the deliveries that a sender lists with a receiver's records: finds deliveries that were never handled
 * although the receiver reported no error, and requests them again with `redeliver`. Reads the list once, holds at most
 * 1,000 deliveries in memory, and makes one store call (with `queued`, up to two) for each 1,000. Deliveries that are
 * created during the comparison are not judged.
 *
 * @throws ConfigError `invalid_option`, `unknown_option` (as rejections)
 * @throws WebhookError `not_newest_first`: a delivery is newer than the one before it, and the list does not repeat
 *   deliveries; `unreadable_list`: a delivery lacks an id, a status or a valid time; `clock_behind`: a delivery was
 *   created more than a day after the time of `clock`; `missing_body`: the receiver's `dedupeBy` is `"event"` or
 *   `"body"`, and `map` returned no body (as rejections). Earlier deliveries may have been requested already
 * @throws the error of the list, `peek`, `map`, `queued` or `onProgress` (as a rejection)
 *
 * @example
 * ```ts
 * import type { Receiver } from "svc-webhooks";
 * import { reconcile, type ServiceDelivery } from "svc-webhooks/reconcile";
 *
 * export async function check(receiver: Receiver, list: AsyncIterable<ServiceDelivery>) {
 *   const since = new Date(Date.now() - 6 * 86_400_000);
 *   const { missingCount, lostCount, newestSentAt } = await reconcile({ list, receiver, since });
 *   console.log({ missingCount, lostCount, newestSentAt });
 * }
 * ```
 */
export async function reconcile<Item = ServiceDelivery>(
  options: ReconcileOptions<Item> & NeedsMap<Item>,
): Promise<ReconcileReport> {
  assertOptions(options, optionNames);
  const {
    list,
    receiver,
    since,
    map = serviceDelivery,
    graceMs = 900_000,
    queued,
    redeliver,
    maxRedeliver = 1_000,
    onProgress,
    clock = Date,
  } = options;
  assertEach({ list }, "an iterable", isIterable);
  assertEach({ receiver }, "a receiver with `peek`", isReceiver);
  assertEach({ clock }, "an object with `now`", isClock);
  const sinceMs = Number(since);
  const now = clock.now();
  assertEach({ since }, "a Date in the past", () => sinceMs >= earliestExpiryMs && sinceMs <= now);
  assertEach({ graceMs, maxRedeliver }, "a number from 0", isCount);
  assertEach({ map, queued, redeliver, onProgress }, "a function", isOptional);

  const report = emptyReport();
  const compare = comparing(report, receiver, queued, redeliver, maxRedeliver);
  let batch: Listed<Item>[] = [];
  let lastMs = Infinity;
  /**
   * The ids that were read last. A page repeats some of them if deliveries were created after the previous page was
   * read.
   */
  const recent = new Set<string>();
  /**
   * The id of the first delivery that is newer than the one before it. Either the list is in the wrong order, or it
   * repeats more deliveries than `recent` holds. If it repeats them, a delivery in `recent` follows.
   */
  let repeated: string | undefined;
  for await (const item of list) {
    const listed = parsed(map(item), now);
    const { deliveryId, status, at, atMs } = listed;
    if (recent.has(deliveryId)) {
      repeated = undefined;
      continue;
    }
    if (atMs > lastMs) repeated ??= deliveryId;
    if (repeated) {
      // Skips repeated deliveries, and the newer ones listed before them, which were created during the comparison. The
      // sender's clock may be behind, so all deliveries younger than `graceMs` count as newer: they are not judged
      // anyway.
      if (atMs >= lastMs && (atMs <= Number(report.newestSentAt) || atMs > now - graceMs)) continue;
      break;
    }
    recent.add(deliveryId);
    if (recent.size > batchSize) recent.delete(recent.values().next().value ?? "");
    // Does not end at the first delivery from before `since`: a list that is sorted oldest first starts with such a
    // delivery too. The next delivery shows the order.
    if (report.reachedSince && atMs < lastMs) break;
    lastMs = atMs;
    report.reachedSince ||= atMs < sinceMs;
    report.newestSentAt ??= at;
    if (report.reachedSince) continue;
    report.sent += 1;
    report.oldestSentAt = at;
    if (atMs > now - graceMs) report.young += 1;
    else if (!statuses.has(status)) report.unknown += 1;
    else if (batch.push({ ...listed, item }) === batchSize) {
      await compare(batch);
      batch = [];
      await onProgress?.({ sent: report.sent, at });
    }
  }
  if (repeated) throw notNewestFirst(repeated);
  await compare(batch);
  return report;
}

/** Returns a function that adds a batch of deliveries to the report and requests the missing ones. */
function comparing<Item>(
  report: Counted,
  receiver: ReconcileOptions<Item>["receiver"],
  queued: ReconcileOptions<Item>["queued"],
  redeliver: ReconcileOptions<Item>["redeliver"],
  maxRedeliver: number,
) {
  let requests = redeliver ? maxRedeliver : 0;

  /**
   * Counts deliveries by the state of their record. Returns, without counting them, the deliveries without a record and
   * the acknowledged ones whose run has failed.
   */
  const unsettled = async (batch: readonly Listed<Item>[]) => {
    const states = batch.length > 0 ? await receiver.peek(batch).catch(rethrow) : [];
    return batch.filter(({ status }, index) => {
      const state = states[index];
      // The sender does not retry an acknowledged delivery, so the next run can come only from a queue.
      if (!state || (state === "failed" && status === "succeeded")) return true;
      report[state] += 1;
      return false;
    });
  };

  const request = async ({ deliveryId, item }: Listed<Item>) => {
    if (report.redelivered >= requests) return;
    try {
      await redeliver?.(deliveryId, item);
      report.redelivered += 1;
    } catch (error) {
      const { status } = Object(error) as { readonly status?: unknown };
      const isRefused = Number(status) >= 400 && Number(status) < 500;
      if (status === 409) report.skipped += 1;
      else if (isRefused && !ending.has(status)) report.refused += 1;
      else {
        requests = 0;
        report.redeliverError = error;
      }
    }
  };

  return async (batch: readonly Listed<Item>[]): Promise<void> => {
    let open = await unsettled(batch);
    if (queued) {
      const absent: Listed<Item>[] = [];
      for (const delivery of open) {
        if (await queued(delivery.deliveryId, delivery.item)) report.queued += 1;
        else absent.push(delivery);
      }
      // Reads the records again, because a job that ran in the meantime has left the queue and has a record.
      open = await unsettled(absent);
    }
    for (const delivery of open) {
      const kind = delivery.status === "succeeded" ? "lost" : "missing";
      report[`${kind}Count`] += 1;
      if (report[kind].length < mostListed) report[kind].push(delivery.deliveryId);
      if (kind === "lost") continue;
      report.oldestMissingAt = delivery.at;
      await request(delivery);
    }
  };
}
