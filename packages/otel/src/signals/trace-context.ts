import { isSpanContextValid, type Link, type Span } from "@opentelemetry/api";

const form = /^00-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/;

/**
 * Returns the trace context of a span as a job stores it (W3C `traceparent`), or undefined if that context is invalid,
 * as without an SDK.
 */
export function traceTextOf(span: Span): string | undefined {
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return undefined;
  const flags = context.traceFlags.toString(16).padStart(2, "0");
  return `00-${context.traceId}-${context.spanId}-${flags}`;
}

/** Returns a link to the span that a job's `trace` names, or no link if the text is missing or invalid. */
export function linksTo(trace: string | undefined): Link[] {
  const { traceId = "", spanId = "", flags = "" } = form.exec(trace ?? "")?.groups ?? {};
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? [{ context }] : [];
}
