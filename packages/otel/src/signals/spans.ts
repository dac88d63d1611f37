import {
  context as contexts,
  SpanStatusCode,
  trace,
  type Attributes,
  type Link,
  type Span,
  type SpanKind,
  type Tracer,
} from "@opentelemetry/api";
import { attempt, within } from "../lib/safely.js";
import { messaging, own, stable } from "./names.js";

/** Returns an event's type for a span, cut to 256 characters because the sender chooses its length. */
export const spanTypeOf = (type: string): string => type.slice(0, 256);

/**
 * Returns the attributes that all spans and messaging metrics of one kind of operation share, in a new object. Callers
 * add their own attributes to this object, because V8 is much slower at spreading it into a literal that has more keys.
 */
export const messagingOf = (name: string, type: string, operation: string): Attributes => ({
  [own.receiver]: name,
  [messaging.system]: "svc_webhooks",
  [messaging.destination]: name,
  [messaging.operationType]: type,
  [messaging.operationName]: operation,
});

interface SpanOptions {
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly links?: Link[];
}

/** A list that contains the error of the work, or an empty list if the work succeeded. */
export type Errors = readonly [error: unknown] | readonly [];

/**
 * Runs `work` in a new span, as a child of the active one. `ended` is called once, when `work` has returned, thrown or
 * settled; it returns the error type for the span. Work that returns no promise stays synchronous. Whatever the tracer
 * throws, `work` runs once, and its result is returned.
 */
export function inSpan<T>(
  tracer: Tracer,
  name: string,
  options: () => SpanOptions,
  work: (span: Span | undefined) => T,
  ended: (errors: Errors) => string | undefined,
): T {
  const span = attempt(() => tracer.startSpan(name, options(), contexts.active()));
  const end = (...errors: Errors) => {
    const errorType = attempt(() => ended(errors));
    attempt(() => {
      if (errors.length === 1) fail(span, errors[0], errorType);
    });
    attempt(() => span?.end());
  };
  const enter = (run: () => void) =>
    span ? contexts.with(trace.setSpan(contexts.active(), span), run) : run();
  return within(enter, () => {
    try {
      const result = work(span);
      if (isThenable(result)) return followed(result, end) as T;
      end();
      return result;
    } catch (error) {
      end(error);
      throw error;
    }
  });
}

function fail(span: Span | undefined, error: unknown, errorType: string | undefined): void {
  const { message = String(error) } = Object(error) as Partial<Error>;
  if (errorType !== undefined) span?.setAttribute(stable.errorType, errorType);
  span?.setStatus({ code: SpanStatusCode.ERROR, message });
  span?.recordException(error instanceof Error ? error : message);
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (Object(value) as Partial<PromiseLike<unknown>>).then === "function";

/**
 * Calls `end` when `work` settles, and then settles like `work`. Calls `then` only once, because it may start the work,
 * as in query builders.
 */
const followed = (work: PromiseLike<unknown>, end: (...errors: Errors) => void): Promise<unknown> =>
  new Promise((resolve, reject) => void work.then(resolve, reject)).then(
    (value) => {
      end();
      return value;
    },
    (error: unknown) => {
      end(error);
      throw error;
    },
  );
