import type { Meter, Tracer } from "@opentelemetry/api";
import type { Clock } from "@svc-webhooks/core";
import type { Inbox, InboxAdmin } from "@svc-webhooks/core/inbox";

/** The parts of an inbox that `telemetry` uses. `telemetry` sets its `around`. */
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
   * The event types that are labels of metrics, such as `Object.keys(emailEvents)`. All others are `_OTHER`, so that a
   * sender cannot create series. Default: none. Errors: `invalid_option`.
   */
  readonly types?: readonly string[] | undefined;
  /** Default: the registered tracer provider's. Errors: `invalid_option`. */
  readonly tracer?: Tracer | undefined;
  /** Default: the registered meter provider's. Errors: `invalid_option`. */
  readonly meter?: Meter | undefined;
  /**
   * The inbox whose jobs the receiver runs or stores: adds a span for each stored delivery, links to it, and gauges of
   * `admin.stats()`. One inbox reports to one `telemetry`. Default: none. Errors: `invalid_option`.
   */
  readonly inbox?: ObservedInbox | undefined;
  /** The time source of durations, and of the pauses between reads of `admin.stats()`, for tests. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}
