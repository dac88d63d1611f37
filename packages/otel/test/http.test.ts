import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { until } from "@svc-webhooks/kit/until";
import { webhooks } from "@svc-webhooks/node";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { sdk, subject, useContexts } from "./support.js";

useContexts();
afterEach(() => propagation.disable());

// The instrumentation changes the module when it is required, and again when it is enabled.
const instrumentation = new HttpInstrumentation({ enabled: false });

const forged = { traceId: "a".repeat(32), spanId: "b".repeat(16) };

interface Setting {
  readonly isInstrumented: boolean;
  readonly propagator?: W3CTraceContextPropagator;
  readonly leavesContext?: boolean;
}

/** Posts a signed delivery with a forged `traceparent`, and returns the spans. */
async function post({ isInstrumented, propagator, leavesContext = false }: Setting) {
  propagation.setGlobalPropagator(propagator ?? new W3CTraceContextPropagator());
  const one = sdk();
  if (isInstrumented) {
    instrumentation.setTracerProvider(one.tracers);
    instrumentation.enable();
    createRequire(import.meta.url)("http");
    onTestFinished(() => instrumentation.disable());
  }
  const { receiver } = subject({ "*": async () => {} }, one.options);
  const handle = webhooks(receiver);
  const server = createServer((request, response) => {
    if (leavesContext) context.with(ROOT_CONTEXT, () => void handle(request, response));
    else void handle(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { body, headers } = await signed(eventBody(), {
    traceparent: `00-${forged.traceId}-${forged.spanId}-01`,
    baggage: "tenant=forged",
  });
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers });
  expect(await response.json()).toEqual({ status: "processed" });
  if (isInstrumented) await until(() => one.spans().length >= 2, "the end of the HTTP span");
  const http = one.spans().find(({ name }) => name === "POST");
  const run = one.spans().find(({ name }) => name === "process mail");
  expect([http !== undefined, run !== undefined]).toEqual([isInstrumented, true]);
  return { http, run };
}

describe("a forged traceparent", () => {
  test("is not read without an HTTP instrumentation", async () => {
    const { run } = await post({ isInstrumented: false });
    expect(run?.parentSpanContext).toBeUndefined();
    expect(run?.spanContext().traceId).not.toBe(forged.traceId);
    expect(run?.links).toEqual([]);
  });

  test("is the parent of the HTTP instrumentation's span, which is the parent of ours", async () => {
    const { http, run } = await post({ isInstrumented: true });
    expect(http?.parentSpanContext).toMatchObject(forged);
    expect(run?.parentSpanContext?.spanId).toBe(http?.spanContext().spanId);
  });

  test("is ignored by a propagator that skips signed requests, as the README shows", async () => {
    class IgnoreSigned extends W3CTraceContextPropagator {
      override extract(
        ...[active, carrier, getter]: Parameters<W3CTraceContextPropagator["extract"]>
      ) {
        const isSigned = getter.get(carrier, "x-svc-signature") !== undefined;
        return isSigned ? active : super.extract(active, carrier, getter);
      }
    }
    const { http, run } = await post({ isInstrumented: true, propagator: new IgnoreSigned() });
    expect(http?.parentSpanContext).toBeUndefined();
    expect(run?.parentSpanContext?.spanId).toBe(http?.spanContext().spanId);
  });

  test("is ignored by a receiver that runs in the root context", async () => {
    const { http, run } = await post({ isInstrumented: true, leavesContext: true });
    expect(http?.parentSpanContext).toMatchObject(forged);
    expect(run?.parentSpanContext).toBeUndefined();
    expect(run?.spanContext().traceId).not.toBe(forged.traceId);
    expect(trace.getSpan(context.active())).toBeUndefined();
  });
});
