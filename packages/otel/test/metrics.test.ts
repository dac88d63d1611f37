import { createIntake, type DeliveryReport } from "@svc-webhooks/core";
import { sized } from "@svc-webhooks/kit/sized";
import { describe, expect, test } from "vitest";
import { telemetry } from "../src/index.js";
import { sdk, subject, useContexts } from "./support.js";

useContexts();

const label = { "svc_webhooks.receiver": "mail" };

describe("metrics", () => {
  test("count and measure each outcome", async () => {
    const one = sdk();
    const { receive } = subject({ "email.*": () => {} }, { ...one.options, types: ["email.sent"] });
    await receive("email.sent");
    await receive("order.paid");
    await receive("email.sent", { "x-svc-signature": "sha256=no" });
    const series = await one.series();
    const shared = {
      ...label,
      "messaging.system": "svc_webhooks",
      "messaging.destination.name": "mail",
      "messaging.operation.type": "process",
      "messaging.operation.name": "process",
    };
    const ended = (code: string) => ({
      "svc_webhooks.outcome": code,
      "svc_webhooks.phase": "answered",
    });
    expect(
      series["messaging.client.consumed.messages"]?.map(({ attributes }) => attributes),
    ).toEqual([
      {
        ...shared,
        ...ended("processed"),
        "svc_webhooks.event.type": "email.sent",
        "http.response.status_code": 200,
      },
      {
        ...shared,
        ...ended("ignored"),
        "svc_webhooks.event.type": "_OTHER",
        "http.response.status_code": 200,
      },
      { ...shared, ...ended("signature_malformed"), "http.response.status_code": 401 },
    ]);
    const durations = series["svc_webhooks.delivery.duration"] ?? [];
    expect(durations.map(({ attributes }) => attributes)).toEqual(
      ["processed", "ignored", "signature_malformed"].map((code) => ({ ...label, ...ended(code) })),
    );
    expect(series["messaging.process.duration"]).toMatchObject([
      { attributes: { ...shared, "svc_webhooks.event.type": "email.sent" }, value: { count: 1 } },
    ]);
    expect(series["svc_webhooks.handlers.active"]).toMatchObject([{ attributes: label, value: 0 }]);
  });

  test("name the source of an event that an intake has accepted", async () => {
    const one = sdk();
    const intake = createIntake({
      name: "mail",
      sources: ["mail-sdk", "eventbridge"],
      on: { "*": () => {} },
      logger: { info() {}, warn() {}, error() {} },
      ...telemetry({ name: "mail", ...one.options }),
    });
    for (const [id, source] of [
      ["evt_1", "mail-sdk"],
      ["evt_1", "eventbridge"],
      ["evt_2", "eventbridge"],
    ] as const) {
      await intake.accept({ source, id, type: "email.sent", body: {} });
    }
    const series = await one.series();
    const consumed = series["messaging.client.consumed.messages"] ?? [];
    expect(
      consumed.map(({ attributes }) => [
        attributes["svc_webhooks.outcome"],
        attributes["svc_webhooks.source"],
      ]),
    ).toEqual([
      ["processed", "mail-sdk"],
      ["duplicate", "eventbridge"],
      ["processed", "eventbridge"],
    ]);
    // A series that starts with the first event has no zero before it, so an alert would miss that event.
    const outcomes = series["svc_webhooks.outcomes"]?.map(({ attributes, value }) => [
      attributes,
      value,
    ]);
    expect(outcomes).toContainEqual([{ ...label, "svc_webhooks.outcome": "processed" }, 2]);
    expect(JSON.stringify(outcomes)).not.toContain("svc_webhooks.source");
  });

  test("have at most 20 sources, even if a scheme of another package names more", async () => {
    const one = sdk();
    const { observe } = telemetry({ name: "mail", ...one.options });
    const report = {
      receiver: "mail",
      code: "processed",
      phase: "answered",
      status: 200,
      totalMs: 1,
    };
    for (let i = 0; i < 30; i++) {
      observe({ ...report, source: `source-${i}`, warnings: [] } as unknown as DeliveryReport);
    }
    const sources = (await one.series())["messaging.client.consumed.messages"]?.map(
      ({ attributes }) => attributes["svc_webhooks.source"],
    );
    expect(sources).toHaveLength(21);
    expect(sources?.at(-1)).toBe("_OTHER");
  });

  test("count warnings by code", async () => {
    const one = sdk();
    const { receive } = subject({ "*": () => {} }, one.options);
    await receive("email.sent", { "idempotency-key": "other" });
    expect((await one.series())["svc_webhooks.warnings"]).toMatchObject([
      { attributes: { ...label, "svc_webhooks.warning": "id_mismatch" }, value: 1 },
    ]);
  });

  test("gain one series, however many types a sender invents, and contain no id", async () => {
    const one = sdk();
    const { receive } = subject({ "*": () => {} }, { ...one.options, types: ["email.sent"] });
    await receive("email.sent");
    const before = await one.series();
    const invented = sized(1_000, 10_000);
    for (let i = 0; i < invented; i++) await receive(`invented.${i}`);
    const after = await one.series();
    for (const [name, more] of [
      ["messaging.client.consumed.messages", 1],
      ["messaging.process.duration", 1],
      ["svc_webhooks.delivery.duration", 0],
      ["svc_webhooks.handlers.active", 0],
    ] as const) {
      expect([name, after[name]?.length]).toEqual([name, (before[name]?.length ?? 0) + more]);
    }
    const other = after["messaging.client.consumed.messages"]?.at(-1);
    expect(other).toMatchObject({
      attributes: { "svc_webhooks.event.type": "_OTHER" },
      value: invented,
    });
    expect(JSON.stringify(after)).not.toMatch(/dlv_|invented/);
  });

  test("gain at most 51 series from names of errors", async () => {
    const one = sdk();
    let runs = 0;
    const { receive } = subject(
      {
        "*": () => {
          throw Object.assign(new Error("no"), { name: `Error${(runs += 1)}` });
        },
      },
      one.options,
    );
    for (let i = 0; i < 200; i++) await receive();
    const types = (await one.series())["messaging.process.duration"]?.map(
      ({ attributes }) => attributes["error.type"],
    );
    expect(types).toHaveLength(51);
    expect(types?.at(-1)).toBe("_OTHER");
  });
});

describe("telemetry", () => {
  test.each([
    [{ name: "" }, "name"],
    [{ types: "email.sent" }, "types"],
    [{ tracer: {} }, "tracer"],
    [{ meter: {} }, "meter"],
    [{ clock: {} }, "clock"],
    [{ inbox: {} }, "inbox"],
  ])("refuses %o", (options, option) => {
    expect(() => telemetry(options as never)).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringContaining(option) }),
    );
  });

  test("refuses an option that does not exist", () => {
    expect(() => telemetry({ type: [] } as never)).toThrow(
      expect.objectContaining({ code: "unknown_option" }),
    );
  });

  test("works without an SDK", async () => {
    const { receive } = subject({ "*": async () => {} }, {});
    expect(await receive()).toMatchObject({ code: "processed" });
  });
});
