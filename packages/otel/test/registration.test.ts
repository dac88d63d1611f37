import { diag, DiagLogLevel, metrics, trace } from "@opentelemetry/api";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { describe, expect, onTestFinished, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { sdk, subject, TestReader } from "./support.js";

/** Records the warnings of OpenTelemetry's own logger in this test. */
function warnings(): readonly string[] {
  const texts: string[] = [];
  const ignore = () => {};
  diag.setLogger(
    {
      warn: (text: string) => void texts.push(text),
      error: ignore,
      info: ignore,
      debug: ignore,
      verbose: ignore,
    },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  onTestFinished(() => diag.disable());
  return texts;
}

/** Registers a meter provider. Returns a function that reads its metrics by name. */
function registerMeters() {
  const reader = new TestReader();
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  onTestFinished(() => metrics.disable());
  return async () => {
    const [scope] = (await reader.collect()).resourceMetrics.scopeMetrics;
    return {
      scope: scope?.scope,
      valuesOf: (name: string) =>
        scope?.metrics
          .find(({ descriptor }) => descriptor.name === name)
          ?.dataPoints.map(({ attributes, value }) => [attributes["svc_webhooks.outcome"], value]),
    };
  };
}

const stats = { oldestMs: 5_000, ready: 2, dead: 1 } as never;
const inbox = { admin: { stats: async () => stats } };

describe("a meter provider", () => {
  test("that is registered before telemetry() has no warning", async () => {
    const texts = warnings();
    const read = registerMeters();
    const { receive } = subject({ "*": () => {} }, { inbox });
    expect((await read()).valuesOf("svc_webhooks.outcomes")).toContainEqual(["parked", 0]);
    await receive();
    await receive();
    expect((await read()).valuesOf("svc_webhooks.outcomes")).toContainEqual(["processed", 2]);
    expect(texts).toEqual([]);
  });

  test("that is registered later receives metrics from the end of the next delivery on", async () => {
    const texts = warnings();
    const { receive } = subject({ "*": () => {} }, { inbox });
    await receive();
    expect(texts).toEqual([]);
    const read = registerMeters();
    await receive();
    await receive();
    const { valuesOf } = await read();
    const outcomes = valuesOf("svc_webhooks.outcomes");
    expect(outcomes).toContainEqual(["processed", 2]);
    expect(outcomes).toContainEqual(["parked", 0]);
    expect(valuesOf("svc_webhooks.inbox.dead")).toEqual([[undefined, 1]]);
    expect(valuesOf("messaging.process.duration")).toMatchObject([[undefined, { count: 1 }]]);
    expect(texts).toEqual([
      expect.stringMatching(/registered after telemetry\(\) was called.*Register the SDK first\./),
    ]);
  });

  test("that throws changes no outcome", async () => {
    const texts = warnings();
    metrics.setGlobalMeterProvider({
      getMeter() {
        throw new Error("no meter");
      },
    });
    onTestFinished(() => metrics.disable());
    const { receive } = subject({ "*": () => {} }, {});
    expect(await receive()).toMatchObject({ code: "processed" });
    expect(texts).toContain("svc-webhooks: telemetry failed");
  });
});

test("a name that is not the receiver's is reported once", async () => {
  const texts = warnings();
  const { receive } = subject({ "*": () => {} }, { ...sdk().options, name: "billing" });
  await receive();
  await receive();
  expect(texts).toEqual([
    expect.stringContaining(
      'telemetry() has the name "billing", but its receiver has the name "mail"',
    ),
  ]);
});

test("spans and metrics have the package's name and version as their scope", async () => {
  const one = sdk();
  trace.setGlobalTracerProvider(one.tracers);
  onTestFinished(() => trace.disable());
  const read = registerMeters();
  const { receive } = subject({ "*": () => {} }, {});
  await receive();
  const { name, version } = manifest;
  expect(one.spanOf("process mail").instrumentationScope).toMatchObject({ name, version });
  expect((await read()).scope).toMatchObject({ name, version });
});
