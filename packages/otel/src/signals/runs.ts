import { createNoopMeter, SpanKind, type Meter, type Tracer } from "@opentelemetry/api";
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
 * @param isLinked whether runs may come from jobs. Otherwise, no job is looked up, because that costs more than all
 *   other attributes
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
  const receiver = { [own.receiver]: name };
  const isNoop = meter === createNoopMeter();

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
        attributes: Object.assign(messagingOf(name, "process", "process"), {
          [messaging.messageId]: context.deliveryId,
          [messaging.bodySize]: context.bodyBytes,
          [own.source]: context.source,
          [own.eventType]: spanTypeOf(type),
          [own.run]: context.run,
          [own.attempt]: context.attempt,
        }),
      }),
      run,
      (errors) => {
        attempt(() => active?.add(-1, receiver));
        const errorType = errors.length === 1 ? labels.errorTypeOf(errors[0]) : undefined;
        if (isNoop) return errorType;
        const seconds = (clock.monotonic() - startedAt) / 1_000;
        const attributes = messagingOf(name, "process", "process");
        attributes[own.eventType] = labels.typeOf(type);
        if (errorType !== undefined) attributes[stable.errorType] = errorType;
        duration?.record(seconds, attributes);
        return errorType;
      },
    );
  };
}
