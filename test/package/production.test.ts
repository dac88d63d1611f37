import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { metrics, type MeterProvider } from "@opentelemetry/api";
import { createReceiver, type Receiver, type Secret } from "@svc-webhooks/core";
import { signedDelivery, signedRequest } from "@svc-webhooks/testing";
import { describe, expect, test, vi } from "vitest";
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
    const provider = {
      getMeter: () => ({ createCounter: instrument, createHistogram: instrument }),
    } as unknown as MeterProvider;
    metrics.setGlobalMeterProvider(provider);
    const { receiver } = await load<{ receiver: Receiver }>('from "@opentelemetry/api"');
    await sendThree(receiver);
    const answered = { receiver: "default", phase: "answered" };
    expect(recorded).toContainEqual(["webhook.deliveries", 1, { ...answered, code: "duplicate" }]);
    expect(recorded).toContainEqual([
      "webhook.warnings",
      1,
      { receiver: "default", warning: "id_mismatch" },
    ]);
    expect(recorded).toContainEqual([
      "webhook.response.duration",
      expect.any(Number),
      { receiver: "default", code: "processed" },
    ]);
  });

  test("the alert rules name outcomes that exist", () => {
    const codes = tableOf("docs/outcomes.md", "outcome")
      .map((row) => row["outcome"])
      .join();
    const [rules = ""] = /^```yaml\n[^]*?^```/m.exec(readFileSync(join(root, page), "utf8")) ?? [];
    const named = Array.from(rules.matchAll(/code=~?"([^"]+)"/g), ([, code = ""]) =>
      code.split("|"),
    ).flat();
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

test("each tenant has a receiver, and an unknown one is not found", async () => {
  const { serve } = await load<{ serve: (request: Request) => Promise<Response> }>("receiverOf");
  const send = async (tenant: string, secret?: string) => {
    const url = `https://app.test/webhooks/${tenant}`;
    const options = secret === undefined ? { url } : { url, secret };
    return (await serve(await signedRequest({ type: "email.sent" }, options))).status;
  };
  expect([await send("acme"), await send("acme", "whsec_other"), await send("globex")]).toEqual([
    200, 401, 404,
  ]);
});
