import { SpanKind, type Meter, type Tracer } from "@opentelemetry/api";
import type { Clock, DeliveryContext } from "@svc-webhooks/core";
import { traceOf } from "@svc-webhooks/core/inbox";
import { attempt } from "../lib/safely.js";
import type { Labels } from "./labels.js";
import { buckets, messaging, own, stable } from "./names.js";
import { inSpan, messagingOf, spanTypeOf } from "./spans.js";
import { linksTo } from "./trace-context.js";

/**
 * Returns the receiver's `around` option, which records a span and metrics for each run of a handler.
 *
 * @param isLinked whether runs may come from jobs. Looking for a run's job costs more than all other attributes
 */
export function aroundRuns(
  name: string,
  labels: Labels,
  tracer: Tracer,
  meter: Meter,
  clock: Clock,
  isLinked: boolean,
): (run: () => unknown, context: DeliveryContext) => unknown {
  const active = attempt(() =>
    meter.createUpDownCounter(own.handlersActive, {
      unit: "{handler}",
      description: "Running handlers.",
    }),
  );
  const duration = attempt(() =>
    meter.createHistogram(messaging.processDuration, {
      unit: "s",
      description: "Duration of handler runs.",
      advice: { explicitBucketBoundaries: buckets },
    }),
  );
  const shared = messagingOf(name, "process", "process");
  const receiver = { [own.receiver]: name };

  return (run, context) => {
    const { type } = context;
    const startedAt = clock.monotonic();
    attempt(() => active?.add(1, receiver));
    return inSpan(
      tracer,
      `process ${name}`,
      () => ({
        kind: SpanKind.CONSUMER,
        links: isLinked ? linksTo(traceOf(context)) : [],
        attributes: {
          ...shared,
          [messaging.messageId]: context.deliveryId,
          [messaging.bodySize]: context.bodyBytes,
          [own.eventType]: spanTypeOf(type),
          [own.run]: context.run,
          [own.attempt]: context.attempt,
        },
      }),
      run,
      (errors) => {
        attempt(() => active?.add(-1, receiver));
        const seconds = (clock.monotonic() - startedAt) / 1_000;
        const errorType = errors.length === 1 ? labels.errorTypeOf(errors[0]) : undefined;
        duration?.record(seconds, {
          ...shared,
          [own.eventType]: labels.typeOf(type),
          ...(errorType !== undefined && { [stable.errorType]: errorType }),
        });
        return errorType;
      },
    );
  };
}
