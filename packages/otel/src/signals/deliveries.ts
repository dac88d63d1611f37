import type { Meter } from "@opentelemetry/api";
import type { DeliveryReport } from "@svc-webhooks/core";
import { attempt } from "../lib/safely.js";
import type { Labels } from "./labels.js";
import { buckets, messaging, own, stable } from "./names.js";
import { messagingOf } from "./spans.js";

/** Returns the receiver's option `observe`: metrics of each report. */
export function observeDeliveries(
  name: string,
  labels: Labels,
  meter: Meter,
): (report: DeliveryReport) => void {
  const consumed = attempt(() =>
    meter.createCounter(messaging.consumedMessages, {
      unit: "{message}",
      description: "Reports of deliveries by outcome.",
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
      description: "Warnings of deliveries by code.",
    }),
  );
  const shared = messagingOf(name, "process", "process");

  return ({ phase, code, status, type, totalMs, warnings }) => {
    const ended = { [own.receiver]: name, [own.outcome]: code, [own.phase]: phase };
    attempt(() =>
      consumed?.add(1, {
        ...shared,
        ...ended,
        [stable.statusCode]: status,
        ...(type !== undefined && { [own.eventType]: labels.typeOf(type) }),
      }),
    );
    attempt(() => duration?.record(totalMs / 1_000, ended));
    for (const warning of warnings) {
      attempt(() => warned?.add(1, { [own.receiver]: name, [own.warning]: warning }));
    }
  };
}
