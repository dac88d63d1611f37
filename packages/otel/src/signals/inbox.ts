import { SpanKind, type Meter, type Tracer } from "@opentelemetry/api";
import type { Clock } from "@svc-webhooks/core";
import type { InboxAdmin, InboxStats } from "@svc-webhooks/core/inbox";
import { attempt, warn } from "../lib/safely.js";
import type { ObservedInbox } from "../options.js";
import type { Labels } from "./labels.js";
import { messaging, own } from "./names.js";
import { inSpan, messagingOf, spanTypeOf } from "./spans.js";
import { traceTextOf } from "./trace-context.js";

/** How long the stats of an inbox are reused, in milliseconds. */
const maxAgeMs = 10_000;

/** The deadline of a read, in milliseconds. The collection of metrics waits for a read until then. */
const readTimeoutMs = 5_000;

/** How long the last stats are reported while later reads miss their deadlines, in milliseconds. */
const maxLateMs = 60_000;

/**
 * How long an unsettled read prevents the next read, in milliseconds. Doubles each time this limit is reached, until a
 * read settles.
 */
const patienceMs = 60_000;

/**
 * Sets the inbox's `around`, so that each delivery is stored within a span, and its job carries the trace context of
 * that span.
 */
export function traceEnqueues(
  inbox: ObservedInbox,
  name: string,
  labels: Labels,
  tracer: Tracer,
): void {
  inbox.around = (store, { deliveryId, bodyBytes, source, type }) =>
    inSpan(
      tracer,
      `enqueue ${name}`,
      () => ({
        kind: SpanKind.PRODUCER,
        attributes: Object.assign(messagingOf(name, "send", "enqueue"), {
          [messaging.messageId]: deliveryId,
          [messaging.bodySize]: bodyBytes,
          [own.source]: source,
          [own.eventType]: spanTypeOf(type),
        }),
      }),
      (span) => store(span && attempt(() => traceTextOf(span))),
      (errors) => (errors.length === 1 ? labels.errorTypeOf(errors[0]) : undefined),
    );
}

/** Registers gauges for the stats of an inbox. */
export function gaugeInbox(
  admin: Pick<InboxAdmin, "stats">,
  name: string,
  meter: Meter,
  clock: Clock,
): void {
  const gauge = (metric: string, unit: string, description: string) =>
    meter.createObservableGauge(metric, { unit, description });
  const oldestAge = gauge(own.oldestAge, "s", "Age of the oldest ready job; 0 if there is none.");
  const ready = gauge(own.ready, "{job}", "Jobs waiting for a worker.");
  const dead = gauge(own.dead, "{job}", "Dead letters.");
  const heldKeys = gauge(own.heldKeys, "{key}", "Keys held by a dead letter.");
  const receiver = { [own.receiver]: name };
  const read = statsReader(admin, clock);
  meter.addBatchObservableCallback(
    async (result) => {
      const stats = await read();
      if (!stats) return;
      result.observe(oldestAge, (stats.oldestMs ?? 0) / 1_000, receiver);
      result.observe(ready, stats.ready, receiver);
      result.observe(dead, stats.dead, receiver);
      if (stats.heldKeys !== undefined) result.observe(heldKeys, stats.heldKeys, receiver);
    },
    [oldestAge, ready, dead, heldKeys],
  );
}

/** Calls `stats`, and rejects if it throws. */
const readStats = async (admin: Pick<InboxAdmin, "stats">) => admin.stats();

/** The result of a read. The times are those of the monotonic clock, in milliseconds. */
interface Numbers {
  readonly stats: InboxStats;
  readonly startedAt: number;
  readonly settledAt: number;
}

/**
 * Returns a function that reads the stats at most every 10 s. If a read misses its deadline, the function resolves to
 * the newest stats that were read in the last minute, or to undefined if there are none. If a read fails, it resolves
 * to undefined. While a read has not settled, the next one begins after a minute at the earliest.
 */
function statsReader(
  admin: Pick<InboxAdmin, "stats">,
  clock: Clock,
): () => Promise<InboxStats | undefined> {
  let current: Promise<InboxStats | undefined> | undefined;
  let currentSince = -Infinity;
  /** The result of the newest successful read. */
  let newest: Numbers | undefined;
  /** When the latest read began, if it has not settled yet. */
  let reading: number | undefined;
  let patience = patienceMs;

  const recent = () =>
    newest && clock.monotonic() - newest.settledAt < maxLateMs ? newest.stats : undefined;

  const keep = (numbers: Numbers, isLate: boolean) => {
    const { stats, startedAt, settledAt } = numbers;
    if (newest && newest.startedAt > startedAt) return stats;
    newest = numbers;
    if (isLate) {
      current = Promise.resolve(stats);
      currentSince = settledAt;
    }
    return stats;
  };

  return () => {
    const startedAt = clock.monotonic();
    if (current && startedAt - currentSince < maxAgeMs) return current;
    if (reading !== undefined) {
      // Waits longer before each further read, because every read that hangs holds a connection of the queue.
      if (startedAt - reading < patience) return Promise.resolve(recent());
      patience *= 2;
    }
    reading = startedAt;
    currentSince = startedAt;
    current = new Promise((resolve) => {
      let isLate = false;
      const cancel = clock.after(readTimeoutMs, () => {
        isLate = true;
        warn(new Error(`admin.stats() took longer than ${readTimeoutMs} ms`));
        resolve(recent());
      });
      void readStats(admin)
        .then(
          (stats) => resolve(keep({ stats, startedAt, settledAt: clock.monotonic() }, isLate)),
          (error: unknown) => {
            warn(error);
            resolve(undefined);
          },
        )
        .finally(() => {
          cancel();
          if (reading !== startedAt) return;
          reading = undefined;
          patience = patienceMs;
        });
    });
    return current;
  };
}
