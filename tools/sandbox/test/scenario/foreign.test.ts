import { runScenario } from "@svc-webhooks/sandbox";
import { describe, expect, test } from "vitest";
import { email, receiver } from "../support.js";
import { newSecret, oldSecret } from "./receivers.js";

const scenario = (...steps: readonly unknown[]) => ({ version: 1, name: "foreign", steps });

const endpoint = (url: string, more: object = {}) => ({
  request: {
    method: "POST",
    path: "/v1/webhook-endpoints",
    body: { url, event_types: ["email.sent"] },
  },
  ...more,
});
const send = { request: { method: "POST", path: "/v1/emails", body: email } };
const choose = { action: "set-assumption", params: { id: "A-21" }, body: { value: "strict" } };

async function refusal(file: object, to: string): Promise<string> {
  const running = runScenario(file, { to, secrets: [oldSecret, newSecret] });
  const error: unknown = await running.then(
    (report) => report,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "wrong_usage" });
  return (error as Error).message;
}

describe("a file of somebody else cannot send anything to another address", () => {
  const outside = "registers an endpoint of another server. Use {receiver} as its url.";

  test.each<readonly [string, (other: string) => object]>([
    ["in a body", (other) => endpoint(other)],
    [
      "in a text",
      (other) => ({
        request: {
          method: "POST",
          path: "/v1/webhook-endpoints",
          text: JSON.stringify({ url: other, event_types: ["email.sent"] }),
        },
      }),
    ],
    [
      "in an action",
      (other) => ({ action: "create-endpoint", body: { url: other, event_types: ["email.sent"] } }),
    ],
  ])("by an endpoint %s", async (_where, step) => {
    const [own, other] = [await receiver(), await receiver()];
    const file = scenario(endpoint("{receiver}"), step(other.url), send);
    expect(await refusal(file, own.url)).toBe(`steps[1] ${outside}`);
    expect(other.got).toEqual([]);
  });

  test("by a suffix of the receiver's URL", async () => {
    const { url } = await receiver();
    const { origin } = new URL(url);
    expect(await refusal(scenario(endpoint("{receiver}@127.0.0.1:9/")), origin)).toBe(
      `steps[0] ${outside}`,
    );
    const report = await runScenario(scenario(endpoint("{receiver}/deeper?a=b")), { to: origin });
    expect(report.met).toBe(true);
  });

  test("by a captured secret", async () => {
    const { url, got } = await receiver();
    const file = scenario(
      endpoint("{receiver}", { capture: { found: "secret" } }),
      endpoint("{receiver}?{found}"),
      send,
    );
    expect(await refusal(file, url)).toBe(
      "steps[0] captures a signing secret as {found}. Remove the capture.",
    );
    expect(got).toEqual([]);
  });

  test("by the assumption that allows public URLs", async () => {
    const { url } = await receiver();
    const text = "A-21, because a scenario delivers only to its receiver.";
    const file = { ...scenario(send), assumptions: { "A-21": "strict" } };
    expect(await refusal(file, url)).toBe(`assumptions cannot have ${text} Remove it.`);
    expect(await refusal(scenario(choose), url)).toBe(
      `steps[0] cannot set ${text} Remove the step.`,
    );
    const hidden = { ...choose, params: { id: "{text}" } };
    const named = { action: "checkpoint", body: { name: "A-21" }, capture: { text: "name" } };
    expect(await refusal(scenario(named, hidden), url)).toBe(
      `steps[1] cannot set ${text} Remove the step.`,
    );
  });
});

describe("a file with a value that cannot be sent is wrong, instead of failing its run", () => {
  const get = { method: "GET", path: "/v1/webhook-events" };

  test.each<readonly [string, readonly unknown[], string]>([
    [
      "a GET with a body",
      [{ request: { ...get, body: {} } }],
      "steps[0].request must not have a body or text with the method GET.",
    ],
    [
      "a GET with a text",
      [{ request: { ...get, text: "x" } }],
      "steps[0].request must not have a body or text with the method GET.",
    ],
    ...["a\nb", "schlüssel"].map(
      (key) =>
        [
          `the idempotency key ${JSON.stringify(key)}`,
          [{ request: { ...send.request, idempotency_key: key } }],
          "steps[0].request.idempotency_key must consist of printable ASCII characters.",
        ] as const,
    ),
    [
      "a path that leaves the interface",
      [{ request: { method: "POST", path: "/v1/../_sandbox/reset" } }],
      "steps[0].request.path must not leave /v1/ with dot segments.",
    ],
    [
      "a path that leaves the interface in another spelling",
      [{ request: { method: "POST", path: "/v1/%2e%2E/_sandbox/reset" } }],
      "steps[0].request.path must not leave /v1/ with dot segments.",
    ],
    [
      "a clock beyond its end",
      Array.from({ length: 900 }, () => ({ advance: "3650d" })),
      "steps[797] moves the clock beyond the year 9999. Use shorter durations.",
    ],
  ])("%s", async (_what, steps, message) => {
    expect(await refusal(scenario(...steps), "http://127.0.0.1:9/")).toBe(message);
  });
});

test("two runs print the same report although a long text is cut", async () => {
  const { url } = await receiver();
  const long = scenario(
    endpoint("{receiver}"),
    send,
    { request: { method: "GET", path: "/v1/webhook-events" }, expect: { data: "none" } },
    { request: { method: "GET", path: `/v1/sends/${"x".repeat(180)}` } },
  );
  const run = async () => JSON.stringify(await runScenario(long, { to: url }));
  const first = await run();
  expect(first).toMatch(/"met":false/);
  expect(await run()).toBe(first);
});
