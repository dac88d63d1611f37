import { createNoopMeter, metrics, trace, type Meter } from "@opentelemetry/api";
import { systemClock, type DeliveryContext, type DeliveryReport } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import version from "../package.json?version";
import { advise, attempt } from "./lib/safely.js";
import type { TelemetryOptions } from "./options.js";
import { observeDeliveries } from "./signals/deliveries.js";
import { gaugeInbox, traceEnqueues } from "./signals/inbox.js";
import { labelsOf } from "./signals/labels.js";
import { aroundRuns } from "./signals/runs.js";

/** The receiver options that {@link telemetry} returns. */
export interface Telemetry {
  /** Counts and measures deliveries. Never throws. */
  readonly observe: (report: DeliveryReport) => void;
  /** Runs a handler in a span. Returns the handler's result or throws its error. */
  readonly around: (run: () => unknown, context: DeliveryContext) => unknown;
}

const scope = "@svc-webhooks/otel";

/**
 * Returns the options `observe` and `around` of a receiver, which report to OpenTelemetry: a span per run of a handler,
 * and metrics. With `inbox`, they also report a span per stored delivery, to which the runs of the delivery link, and
 * gauges of the inbox. They read no trace headers of requests, and no error of a tracer or meter changes an outcome.
 *
 * Register the SDK before you call `telemetry`. Otherwise, metrics start only with the first delivery after the SDK has
 * been registered.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { emailEvents } from "svc-webhooks/events";
 * import { telemetry } from "svc-webhooks/otel";
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
    tracer = trace.getTracer(scope, version),
    meter,
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
    meter === undefined || hasMethod(meter, "createCounter"),
    "meter",
    "`meter` must be an OpenTelemetry meter.",
  );
  assertValid(hasMethod(clock, "after"), "clock", "`clock` must be a Clock.");
  const labels = labelsOf(types);
  const { admin } = Object(inbox) as Partial<NonNullable<typeof inbox>>;
  if (inbox !== undefined) {
    assertValid(
      typeof inbox === "function" || hasMethod(admin, "stats"),
      "inbox",
      "`inbox` must be an inbox, such as the result of bullmqInbox(queue).",
    );
    traceEnqueues(inbox, name, labels, tracer);
  }
  const measure = (on: Meter): Telemetry => {
    if (admin) attempt(() => gaugeInbox(admin, name, on, clock));
    return {
      observe: observeDeliveries(name, labels, on),
      around: aroundRuns(name, labels, tracer, on, clock, inbox !== undefined),
    };
  };
  return meter ? measure(meter) : onRegisteredMeter(measure);
}

/**
 * Calls `measure` with the registered provider's meter. If no provider is registered, looks again at each report until
 * there is one.
 */
function onRegisteredMeter(measure: (meter: Meter) => Telemetry): Telemetry {
  const noop = createNoopMeter();
  const find = () => attempt(() => metrics.getMeter(scope, version)) ?? noop;
  const first = find();
  let hooks = measure(first);
  if (first !== noop) return hooks;
  let isFound = false;
  return {
    observe(report) {
      const meter = isFound ? noop : find();
      if (meter !== noop) {
        isFound = true;
        hooks = measure(meter);
        advise(
          "A meter provider was registered after telemetry() was called, so metrics start only now. Register the SDK first.",
        );
      }
      hooks.observe(report);
    },
    around: (run, context) => hooks.around(run, context),
  };
}

const hasMethod = (value: unknown, name: string): boolean =>
  typeof (Object(value) as Record<string, unknown>)[name] === "function";
