import { createNoopMeter, type Meter } from "@opentelemetry/api";
import type { DeliveryReport, OutcomeCode } from "@svc-webhooks/core";
import { advise, attempt } from "../lib/safely.js";
import type { Labels } from "./labels.js";
import { buckets, messaging, own, stable } from "./names.js";
import { messagingOf } from "./spans.js";

/**
 * The outcomes that alerts use. Their time series start at 0, because Prometheus sees no increase if the first sample
 * of a series is already 1.
 */
const alerting: readonly OutcomeCode[] = [
  "processed",
  "parked",
  "handler_failed",
  "handler_timeout",
  "event_invalid",
  "event_untyped",
  "store_unavailable",
  "queue_unavailable",
  "body_unavailable",
  "misconfigured",
  "internal_error",
  "overloaded",
  "signature_mismatch",
];

/** Returns the receiver's `observe` option, which records the metrics of each report. */
export function observeDeliveries(
  name: string,
  labels: Labels,
  meter: Meter,
): (report: DeliveryReport) => void {
  const consumed = attempt(() =>
    meter.createCounter(messaging.consumedMessages, {
      unit: "{message}",
      description: "Delivery reports by outcome.",
    }),
  );
  const outcomes = attempt(() =>
    meter.createCounter(own.outcomes, {
      unit: "{outcome}",
      description: "Delivery outcomes.",
    }),
  );
  const duration = attempt(() =>
    meter.createHistogram(own.deliveryDuration, {
      unit: "s",
      description: "Time from the arrival of a delivery to its report.",
      advice: { explicitBucketBoundaries: buckets },
    }),
  );
  const warned = attempt(() =>
    meter.createCounter(own.warnings, {
      unit: "{warning}",
      description: "Delivery warnings by code.",
    }),
  );
  const receiverLabel = { [own.receiver]: name };
  for (const code of alerting) {
    attempt(() => outcomes?.add(0, { ...receiverLabel, [own.outcome]: code }));
  }
  // Without an SDK, no delivery spends time on attributes that nothing reads.
  const isNoop = meter === createNoopMeter();
  let isAdvised = false;

  return ({ receiver, phase, code, status, source, type, totalMs, warnings }) => {
    if (receiver !== name && !isAdvised) {
      isAdvised = true;
      advise(
        `telemetry() has the name "${name}", but its receiver has the name "${receiver}". Pass the receiver's name.`,
      );
    }
    if (isNoop) return;
    attempt(() => outcomes?.add(1, { [own.receiver]: name, [own.outcome]: code }));
    const ended = { [own.receiver]: name, [own.outcome]: code, [own.phase]: phase };
    attempt(() => {
      const attributes = Object.assign(messagingOf(name, "process", "process"), ended);
      attributes[stable.statusCode] = status;
      if (source !== undefined) attributes[own.source] = labels.sourceOf(source);
      if (type !== undefined) attributes[own.eventType] = labels.typeOf(type);
      consumed?.add(1, attributes);
    });
    attempt(() => duration?.record(totalMs / 1_000, ended));
    for (const warning of warnings) {
      attempt(() => warned?.add(1, { ...receiverLabel, [own.warning]: warning }));
    }
  };
}
