import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { context, SpanKind, type Meter } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import {
  AggregationTemporality,
  MeterProvider,
  MetricReader,
  type DataPoint,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  type ReadableSpan,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import {
  createReceiver,
  memoryStore,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { afterEach, beforeEach } from "vitest";
import { telemetry, type Telemetry, type TelemetryOptions } from "../src/index.js";

/** Registers the SDK's context manager for each test of a file. */
export function useContexts(): void {
  beforeEach(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterEach(() => context.disable());
}

/** A reader that reads when a test asks for it. */
export class TestReader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

/**
 * An SDK whose spans and metrics stay in memory. A cumulative reader repeats the last value of a gauge that is not
 * observed; one with deltas omits it.
 */
export function sdk(temporality = AggregationTemporality.CUMULATIVE) {
  const spans: ReadableSpan[] = [];
  let ends = 0;
  // Processors that export use the context manager, which a test may replace with a broken one.
  const processor: SpanProcessor = {
    onStart(span) {
      const end = span.end.bind(span);
      span.end = (...args) => {
        ends += 1;
        end(...args);
      };
    },
    onEnd: (span) => void spans.push(span),
    async forceFlush() {},
    async shutdown() {},
  };
  const tracers = new BasicTracerProvider({ spanProcessors: [processor] });
  const reader = new TestReader({ aggregationTemporalitySelector: () => temporality });
  const meters = new MeterProvider({ readers: [reader] });
  const tracer = tracers.getTracer("test");
  return {
    tracers,
    tracer,
    options: { tracer, meter: meters.getMeter("test") },
    /** Returns the number of calls of `end`. A span ignores all but the first. */
    ends: () => ends,
    /** Returns the ended spans in the order of their ends. */
    spans: (): readonly ReadableSpan[] => spans,
    spanOf(name: string): ReadableSpan {
      const [span, ...others] = spans.filter((one) => one.name === name);
      if (!span || others.length > 0) throw new Error(`There must be one span ${name}.`);
      return span;
    },
    /** Returns the series of all metrics, by the name of the metric. */
    async series(): Promise<Readonly<Record<string, readonly DataPoint<unknown>[]>>> {
      const { resourceMetrics } = await reader.collect();
      const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return Object.fromEntries(
        metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]),
      );
    },
  };
}

/** A meter whose metrics Prometheus reads as it does in an application. `scrape` resolves to their text. */
export function scraped(): { readonly meter: Meter; readonly scrape: () => Promise<string> } {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  return {
    meter: new MeterProvider({ readers: [exporter] }).getMeter("test"),
    async scrape() {
      const server = createServer((request, response) =>
        exporter.getMetricsRequestHandler(request, response),
      );
      try {
        server.listen(0, "127.0.0.1");
        await once(server, "listening");
        const { port } = server.address() as AddressInfo;
        return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      } finally {
        server.close();
      }
    },
  };
}

export interface Subject {
  readonly receiver: Receiver;
  readonly clock: FakeClock;
  readonly hooks: Telemetry;
  readonly receive: (type?: string, headers?: Record<string, string>) => Promise<Outcome>;
}

let deliveries = 0;

/** Returns a receiver with telemetry, on a clock that stands still. */
export function subject(
  on: ReceiverOptions["on"],
  options: TelemetryOptions,
  clock: FakeClock = fakeClock(),
): Subject {
  const hooks = telemetry({ name: "mail", clock, ...options });
  const receiver = createReceiver({
    name: "mail",
    secret,
    clock,
    store: memoryStore({ clock }),
    logger: { info() {}, warn() {}, error() {} },
    on,
    ...hooks,
  });
  return {
    receiver,
    clock,
    hooks,
    async receive(type = "email.sent", headers = {}) {
      const id = `dlv_${(deliveries += 1)}`;
      return receiver.receive(
        await signed(eventBody(type), { "x-svc-delivery-id": id, ...headers }),
      );
    },
  };
}

export const kinds = { producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER } as const;
