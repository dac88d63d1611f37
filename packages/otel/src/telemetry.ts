import { metrics, trace } from "@opentelemetry/api";
import {
  assertOptions,
  assertValid,
  type DeliveryContext,
  type DeliveryReport,
} from "@svc-webhooks/core";
import { attempt } from "./lib/safely.js";
import { systemClock } from "./lib/system-clock.js";
import type { TelemetryOptions } from "./options.js";
import { observeDeliveries } from "./signals/deliveries.js";
import { gaugeInbox, traceEnqueues } from "./signals/inbox.js";
import { labelsOf } from "./signals/labels.js";
import { aroundRuns } from "./signals/runs.js";

/** The options of a receiver that {@link telemetry} returns. */
export interface Telemetry {
  /** Counts and measures deliveries. Never throws. */
  readonly observe: (report: DeliveryReport) => void;
  /** Runs a handler in a span. Returns and throws what the handler does. */
  readonly around: (run: () => unknown, context: DeliveryContext) => unknown;
}

const scope = "@svc-webhooks/otel";

/**
 * Returns the options `observe` and `around` of a receiver, which report to OpenTelemetry: a span per run of a handler,
 * and metrics. With `inbox`, also a span per stored delivery, to which its runs are linked, and gauges of the inbox.
 * Nothing is read from a request's trace headers, and no error of a tracer or a meter changes an outcome.
 *
 * Register the SDK before you call it, because instruments belong to the provider that is registered then.
 *
 * @throws ReceiverConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "@svc-webhooks/core";
 * import { emailEvents } from "@svc-webhooks/events";
 * import { telemetry } from "@svc-webhooks/otel";
 *
 * export const receiver = createReceiver({
 *   name: "mail",
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   events: emailEvents,
 *   on: { "email.delivered": (event) => console.log(event.type) },
 *   ...telemetry({ name: "mail", types: Object.keys(emailEvents) }),
 * });
 * ```
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  assertOptions(options, ["name", "types", "tracer", "meter", "inbox", "clock"]);
  const {
    name = "default",
    types = [],
    tracer = trace.getTracer(scope),
    meter = metrics.getMeter(scope),
    inbox,
    clock = systemClock,
  } = options;
  assertValid(
    typeof name === "string" && name !== "",
    "name",
    "`name` must be the receiver's name.",
  );
  assertValid(
    Array.isArray(types) && types.every((type) => typeof type === "string"),
    "types",
    "`types` must be a list of event types, such as Object.keys(emailEvents).",
  );
  assertValid(
    hasMethod(tracer, "startSpan"),
    "tracer",
    "`tracer` must be an OpenTelemetry tracer.",
  );
  assertValid(
    hasMethod(meter, "createCounter"),
    "meter",
    "`meter` must be an OpenTelemetry meter.",
  );
  assertValid(hasMethod(clock, "after"), "clock", "`clock` must be a Clock.");
  const labels = labelsOf(types);
  if (inbox !== undefined) {
    const { admin } = Object(inbox) as Partial<typeof inbox>;
    assertValid(
      typeof inbox === "function" || hasMethod(admin, "stats"),
      "inbox",
      "`inbox` must be an inbox, such as the result of bullmqInbox(queue).",
    );
    traceEnqueues(inbox, name, labels, tracer);
    if (admin) attempt(() => gaugeInbox(admin, name, meter, clock));
  }
  return {
    observe: observeDeliveries(name, labels, meter),
    around: aroundRuns(name, labels, tracer, meter, clock, inbox !== undefined),
  };
}

const hasMethod = (value: unknown, name: string): boolean =>
  typeof (Object(value) as Record<string, unknown>)[name] === "function";
