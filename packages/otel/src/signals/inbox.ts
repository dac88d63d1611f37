import { SpanKind, type Meter, type Tracer } from "@opentelemetry/api";
import type { Clock } from "@svc-webhooks/core";
import type { InboxAdmin, InboxStats } from "@svc-webhooks/core/inbox";
import { attempt, warn } from "../lib/safely.js";
import type { ObservedInbox } from "../options.js";
import type { Labels } from "./labels.js";
import { messaging, own } from "./names.js";
import { inSpan, messagingOf, spanTypeOf } from "./spans.js";
import { traceTextOf } from "./trace-context.js";

/** How long the numbers of an inbox are used, in milliseconds. */
const maxAgeMs = 10_000;

/** The deadline of a read, in milliseconds. A pull of metrics waits for it. */
const readTimeoutMs = 5_000;

/** How long the numbers of a read are used if the next one misses its deadline, in milliseconds. */
const maxLateMs = 60_000;

/** How long a read that has not settled prevents the next one, in milliseconds. Doubles with each that never settles. */
const patienceMs = 60_000;

/** Makes the inbox store each delivery in a span, and pass the span's trace context to the job. */
export function traceEnqueues(
  inbox: ObservedInbox,
  name: string,
  labels: Labels,
  tracer: Tracer,
): void {
  const shared = messagingOf(name, "send", "enqueue");
  inbox.around = (store, { deliveryId, bodyBytes, type }) =>
    inSpan(
      tracer,
      `enqueue ${name}`,
      () => ({
        kind: SpanKind.PRODUCER,
        attributes: {
          ...shared,
          [messaging.messageId]: deliveryId,
          [messaging.bodySize]: bodyBytes,
          [own.eventType]: spanTypeOf(type),
        },
      }),
      (span) => store(span && attempt(() => traceTextOf(span))),
      (errors) => (errors.length === 1 ? labels.errorTypeOf(errors[0]) : undefined),
    );
}

/** Registers gauges of the numbers of an inbox. */
export function gaugeInbox(
  admin: Pick<InboxAdmin, "stats">,
  name: string,
  meter: Meter,
  clock: Clock,
): void {
  const gauge = (metric: string, unit: string, description: string) =>
    meter.createObservableGauge(metric, { unit, description });
  const oldestAge = gauge(own.oldestAge, "s", "Age of the oldest job that could run; 0 if none.");
  const ready = gauge(own.ready, "{job}", "Jobs that wait for a worker.");
  const dead = gauge(own.dead, "{job}", "Dead letters.");
  const heldKeys = gauge(own.heldKeys, "{key}", "Keys that wait behind a dead letter.");
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

/** Rejects if `stats` throws. */
const readStats = async (admin: Pick<InboxAdmin, "stats">) => admin.stats();

/** The numbers of a read. The times are on the monotonic clock, in milliseconds. */
interface Numbers {
  readonly stats: InboxStats;
  readonly startedAt: number;
  readonly settledAt: number;
}

/**
 * Returns a function that reads the numbers at most every 10 s. It resolves to the numbers of the last minute, or else to
 * undefined, if a read misses its deadline, and to undefined if it fails.
 */
function statsReader(
  admin: Pick<InboxAdmin, "stats">,
  clock: Clock,
): () => Promise<InboxStats | undefined> {
  let current: Promise<InboxStats | undefined> | undefined;
  let currentSince = -Infinity;
  /** The newest numbers. */
  let newest: Numbers | undefined;
  /** When the read began that has not settled yet. */
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
      // A read that hangs holds one connection of the queue, and few more however long the queue hangs.
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
