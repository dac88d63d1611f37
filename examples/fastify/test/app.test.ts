import { fileURLToPath } from "node:url";
import {
  expectedResponses,
  responsesOf,
  startExample,
  testReadmeCurl,
} from "@svc-webhooks/kit/examples";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { textOf } from "../../../test/package/readme.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

const start = () => startExample(folder, "app.mjs");

test("processes a delivery once, refuses a forged one, and parses JSON on other routes", async () => {
  const { origin } = await start();
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${origin}/json`, { method: "POST", headers, body: '{"a":1}' });
  expect(await response.json()).toEqual({ received: { a: 1 } });
});

testPosix.each(["SIGINT", "SIGTERM"] as const)(
  "closes and exits on %s, and prints what its page shows",
  async (signal) => {
    const { child, exited, ended, lines, port, origin } = await start();
    expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
    child.kill(signal);
    expect(await exited).toEqual([0, null]);
    const [, shown] =
      /^```\n(Listening[^]*?)^```$/m.exec(textOf("examples/fastify/README.md")) ?? [];
    await ended;
    const printed = lines.filter((line) => !line.startsWith("{")).map((line) => `${line}\n`);
    expect(printed.join("").replace(`:${port}`, ":3000")).toBe(shown);
  },
);

testReadmeCurl(folder, async () => (await start()).origin);
