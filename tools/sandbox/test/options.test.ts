import { describe, expect, test } from "vitest";
import { createSandbox, type SandboxOptions } from "@svc-webhooks/sandbox";

test("the ids of assumptions are a closed set of types", () => {
  const known: SandboxOptions = { assumptions: { "A-01": "bounced", "A-28": "usual" } };
  // @ts-expect-error There is no such assumption.
  const unknown: SandboxOptions = { assumptions: { "A-99": 1 } };
  expect([known, unknown]).toHaveLength(2);
});

describe("createSandbox refuses", () => {
  test.each([
    ["clock", { clock: "fast" }],
    ["clock.speed", { clock: { mode: "accelerated", speed: 0 } }],
    ["clock.speed", { clock: { mode: "accelerated", speed: 1_000_000 } }],
    ["clock.start", { clock: { mode: "manual", start: Number.NaN } }],
    ["clock.start", { clock: { mode: "manual", start: Date.UTC(10_000, 0) } }],
    ["clock.patienceMs", { clock: { mode: "manual", patienceMs: 0 } }],
    ["clock.patienceMs", { clock: { mode: "manual", patienceMs: 600_001 } }],
    ["data", { data: "" }],
    ["seed", { seed: 0.5 }],
    ["smtp", { smtp: "smtp://mail.example.test:25" }],
    ["allowHosts", { allowHosts: "sandbox" }],
    ["maxDeliveries", { maxDeliveries: 0 }],
    ["maxBytes", { maxBytes: -1 }],
    ["lookup", { lookup: {} }],
    ["log", { log: "stdout" }],
    ['assumptions["A-06"]', { assumptions: { "A-06": "no" } }],
  ])("an invalid %s", (option, options) => {
    const create = () => createSandbox(options as SandboxOptions);
    expect(create).toThrow(expect.objectContaining({ code: "invalid_option", option }) as Error);
  });

  const delay = "A delay is a number followed by ms, s, m or h, such as 500ms, 1s or 5m.";
  const duration = "A duration is a number followed by ms, s, m or h, such as 500ms, 1s or 5m.";
  const limit = "A limit is a number of requests from 1 to 999999, as in epoch:100/60s.";

  test.each([
    ["A-06", "no", "Use one of: warn, reject, allow."],
    ["A-09", "5", `Use one of: fast, realistic, none, <delay>,<delay>. ${delay}`],
    [
      "A-10",
      "timeout:5",
      `timeout:<duration>. A status is a number from 300 to 599, as in stop:400+410. ${duration}`,
    ],
    ["A-16", "100/60", `http-date:<limit>/<duration>. ${limit} ${duration}`],
    ["A-19", "deferred:5", `pinned. ${duration}`],
    [
      "A-24",
      "5000",
      "A size is a number followed by B, kB, KiB, MB or MiB, such as 512B, 64KiB or 10MB, and at most 1000MB.",
    ],
  ])("the value %s=%s, with the form of each value", (id, value, text) => {
    const create = () => createSandbox({ assumptions: { [id]: value } });
    expect(create).toThrow(text);
  });

  test.each([
    ["A-03", "extra:email.opened"],
    ["A-09", "500ms,1s,5m"],
    ["A-10", "stop:400+410"],
    ["A-16", "epoch:100/60s"],
    ["A-19", "deferred:5m"],
    ["A-23", "keys:svc_one,svc_two", "keys:…,…"],
    ["A-24", "512B"],
    ["A-24", "64KiB"],
    ["A-24", "10MB"],
  ])("not the example of its errors: %s=%s", async (id, value, shown = value) => {
    const sandbox = createSandbox({ assumptions: { [id]: value } });
    expect(sandbox.assumptions().find((row) => row.id === id)?.value).toBe(shown);
    await sandbox.close();
  });

  test.each([
    ["port", { port: 4010 }],
    ["clock.mod", { clock: { mod: "real" } }],
    ["assumptions.A-99", { assumptions: { "A-99": "yes" } }],
  ])("the unknown option %s", (option, options) => {
    const create = () => createSandbox(options as SandboxOptions);
    expect(create).toThrow(expect.objectContaining({ code: "unknown_option", option }) as Error);
  });
});
