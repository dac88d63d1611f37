import type { Meter, Tracer } from "@opentelemetry/api";
import type { Clock } from "@svc-webhooks/core";
import type { Inbox, InboxAdmin } from "@svc-webhooks/core/inbox";

/** The parts of an inbox that `telemetry` uses. `telemetry` sets the inbox's `around`. */
export interface ObservedInbox extends Pick<Inbox, "around"> {
  readonly admin?: Pick<InboxAdmin, "stats"> | undefined;
}

/** The options of `telemetry`. */
export interface TelemetryOptions {
  /**
   * The receiver's `name`, for the names of spans and as a label. If the receiver has another name, `diag` receives one
   * warning. Default `"default"`. Errors: `invalid_option`.
   */
  readonly name?: string | undefined;
  /**
   * The event types that metrics use as labels, such as `Object.keys(emailEvents)`. All other types become `_OTHER`, so
   * that a sender cannot create an unlimited number of time series. Default: none. Errors: `invalid_option`.
   */
  readonly types?: readonly string[] | undefined;
  /**
   * The tracer that creates the spans. Default: a tracer of the registered tracer provider. Errors: `invalid_option`.
   */
  readonly tracer?: Tracer | undefined;
  /**
   * The meter that creates the metrics. Default: a meter of the registered meter provider. Errors: `invalid_option`.
   */
  readonly meter?: Meter | undefined;
  /**
   * The inbox whose jobs the receiver runs or stores. Adds a span for each stored delivery, links from the delivery's
   * runs to this span, and, if the inbox has `admin`, gauges of `admin.stats()`. If several `telemetry` calls receive
   * the same inbox, only the last one creates spans for stored deliveries. Default: none. Errors: `invalid_option`.
   */
  readonly inbox?: ObservedInbox | undefined;
  /**
   * The time source for durations of runs and pauses between reads of `admin.stats()`, for tests. Default: the
   * system's.
   */
  readonly clock?: Clock | undefined;
}
