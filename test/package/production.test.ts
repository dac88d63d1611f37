import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { metrics, type Meter, type MeterProvider } from "@opentelemetry/api";
import { createReceiver, type Receiver, type Secret } from "@svc-webhooks/core";
import { telemetry } from "@svc-webhooks/otel";
import { signedDelivery } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { conditionOf, fires, increaseRules } from "@svc-webhooks/kit/alert-rules";
import { root } from "@svc-webhooks/kit/programs";
import { tableOf } from "@svc-webhooks/kit/tables";
import { codeBlocks, compileBlocks } from "./readme.js";

const page = "docs/production.md";
const blocks = codeBlocks(page);
const { modulePath } = await compileBlocks(blocks);
const on = { "*": () => {} };
process.env["SVC_WEBHOOK_SECRET"] = "whsec_test";

/** Imports the page's block that contains this text. */
async function load<Module>(text: string): Promise<Module> {
  const block = blocks.find(({ code }) => code.includes(text));
  if (!block) throw new Error(`${page} must have a block with ${text}.`);
  return (await import(pathToFileURL(modulePath(block)).href)) as Module;
}

const [rulesText = ""] = /^```yaml\n[^]*?^```/m.exec(readFileSync(join(root, page), "utf8")) ?? [];
/** The outcomes in the alert rules. */
const named = Array.from(rulesText.matchAll(/code=~?"([^"]+)"/g), ([, code = ""]) =>
  code.split("|"),
).flat();

/** Sends a delivery, its copy, and one with another id in `Idempotency-Key`. */
async function sendThree(receiver: Receiver): Promise<void> {
  const delivery = await signedDelivery({ type: "email.sent" });
  await receiver.receive(delivery);
  await receiver.receive(delivery);
  const headers = { "idempotency-key": "other" };
  await receiver.receive(await signedDelivery({ type: "email.sent" }, { headers }));
}

describe("monitoring", () => {
  test("the Prometheus snippet counts outcomes and warnings and measures responses", async () => {
    const { receiver, metrics: read } = await load<{
      receiver: Receiver;
      metrics: () => Promise<Response>;
    }>('from "prom-client"');
    await sendThree(receiver);
    const response = await read();
    expect(response.headers.get("content-type")).toContain("text/plain");
    const text = await response.text();
    const labels = 'receiver="default",phase="answered"';
    expect(text).toContain(`webhook_deliveries_total{${labels},code="processed"} 2`);
    expect(text).toContain(`webhook_deliveries_total{${labels},code="duplicate"} 1`);
    expect(text).toContain('webhook_warnings_total{receiver="default",warning="id_mismatch"} 1');
    expect(text).toContain('webhook_response_seconds_count{receiver="default",code="processed"} 2');
  });

  test("the OpenTelemetry snippet counts outcomes and warnings and measures responses", async () => {
    const recorded: unknown[] = [];
    const instrument = (name: string) => {
      const record = (value: number, attributes: unknown) =>
        recorded.push([name, value, attributes]);
      return { add: record, record };
    };
    // The provider has only the members that the snippet uses.
    const meter = {
      createCounter: instrument,
      createHistogram: instrument,
      createUpDownCounter: instrument,
    };
    metrics.setGlobalMeterProvider({ getMeter: () => meter } as unknown as MeterProvider);
    onTestFinished(() => metrics.disable());
    const { receiver } = await load<{ receiver: Receiver }>('from "svc-webhooks/otel"');
    await sendThree(receiver);
    const label = { "svc_webhooks.receiver": "default" };
    const duplicate = { "svc_webhooks.outcome": "duplicate", "svc_webhooks.phase": "answered" };
    expect(recorded).toContainEqual([
      "messaging.client.consumed.messages",
      1,
      expect.objectContaining({ ...label, ...duplicate, "svc_webhooks.event.type": "email.sent" }),
    ]);
    expect(recorded).toContainEqual([
      "svc_webhooks.warnings",
      1,
      { ...label, "svc_webhooks.warning": "id_mismatch" },
    ]);
    expect(recorded).toContainEqual([
      "svc_webhooks.delivery.duration",
      expect.any(Number),
      { ...label, ...duplicate },
    ]);
  });

  test("each alert rule of an increase fires for a single event", async () => {
    const { metrics: read } = await load<{ metrics: () => Promise<Response> }>(
      'from "prom-client"',
    );
    const before = await (await read()).text();
    const rules = increaseRules(rulesText);
    const sensitive = rules.filter((rule) => conditionOf(rule).condition === "> 0");
    expect(sensitive).toHaveLength(3);
    for (const rule of sensitive) {
      for (const code of conditionOf(rule).values) {
        for (const phase of ["answered", "settled"]) {
          const series = `{receiver="default",phase="${phase}",code="${code}"}`;
          const after = before.replace(`${series} 0`, `${series} 1`);
          const name = `${rule.alert} ${phase} ${code}`;
          const scrapes = [before, ...Array<string>(120).fill(after)];
          expect([name, fires(rule, code, scrapes)]).toEqual([name, true]);
        }
      }
    }
  });

  test("the OpenTelemetry counter starts at 0 for each outcome of a rule", async () => {
    const started: unknown[] = [];
    const createCounter = (name: string) => ({
      add: (value: number, attributes: Readonly<Record<string, unknown>>) =>
        name === "svc_webhooks.outcomes" &&
        started.push([attributes["svc_webhooks.outcome"], value]),
    });
    const instrument = () => ({ add() {}, record() {} });
    telemetry({
      meter: {
        createCounter,
        createHistogram: instrument,
        createUpDownCounter: instrument,
      } as unknown as Meter,
    });
    expect(started).toEqual(expect.arrayContaining(named.map((code) => [code, 0])));
  });

  test("the alert rules name outcomes that exist", () => {
    const codes = tableOf("docs/outcomes.md", "outcome")
      .map((row) => row["outcome"])
      .join();
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((code) => !codes.includes(`\`${code}\``))).toEqual([]);
  });
});

describe("rotating the secret", async () => {
  const { cachedSecrets } = await load<{
    cachedSecrets: (
      read: () => Promise<readonly Secret[]>,
      maxAgeMs?: number,
    ) => () => Promise<readonly Secret[]>;
  }>("cachedSecrets");
  const before = { id: "before", key: "whsec_before" };
  const after = { id: "after", key: "whsec_after" };

  /** Returns the code, the matching key and the warnings of a delivery signed with this key. */
  async function receive(receiver: Receiver, { key }: Secret) {
    const secret = String(key);
    const outcome = await receiver.receive(
      await signedDelivery({ type: "email.sent" }, { secret }),
    );
    return [outcome.code, outcome.secretId, ...outcome.warnings];
  }

  test("both keys are accepted, and the old one is reported until it is removed", async () => {
    let stored: readonly Secret[] = [before];
    const secret = cachedSecrets(async () => stored, 0);
    const receiver = createReceiver({ secret, on, log: () => {} });
    expect(await receive(receiver, before)).toEqual(["processed", "before"]);
    stored = [after, before];
    expect(await receive(receiver, after)).toEqual(["processed", "after"]);
    expect(await receive(receiver, before)).toEqual(["processed", "before", "old_secret"]);
    stored = [after];
    expect(await receive(receiver, before)).toEqual(["signature_mismatch", undefined]);
  });

  test("the secrets are read once within their maximum age", async () => {
    const read = vi.fn<() => Promise<readonly Secret[]>>(async () => [before]);
    const receiver = createReceiver({ secret: cachedSecrets(read), on });
    await receive(receiver, before);
    await receive(receiver, before);
    expect(read).toHaveBeenCalledTimes(1);
  });

  test("known secrets are kept while they cannot be read", async () => {
    const read = vi.fn<() => Promise<readonly Secret[]>>(async () => [before]);
    const secret = cachedSecrets(read, 0);
    const receiver = createReceiver({ secret, on, log: () => {} });
    read.mockRejectedValueOnce(new Error("unreachable"));
    expect(await receive(receiver, before)).toEqual(["misconfigured", undefined]);
    expect(await receive(receiver, before)).toEqual(["processed", "before"]);
    read.mockRejectedValueOnce(new Error("unreachable"));
    expect(await receive(receiver, before)).toEqual(["processed", "before"]);
  });
});

test("several endpoints have receivers with their own secrets, and share a store", async () => {
  vi.stubEnv("ORDERS_SECRET", "whsec_orders");
  vi.stubEnv("SUPPORT_SECRET", "whsec_support");
  vi.spyOn(console, "log").mockReturnValue();
  const { receivers } = await load<{ receivers: Record<"orders" | "support", Receiver> }>(
    "ORDERS_SECRET",
  );
  const send = async (name: keyof typeof receivers, secret: string) =>
    (await receivers[name].receive(await signedDelivery({ type: "email.sent" }, { secret }))).code;
  expect([
    await send("orders", "whsec_orders"),
    await send("support", "whsec_support"),
    await send("support", "whsec_orders"),
  ]).toEqual(["processed", "processed", "signature_mismatch"]);
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
