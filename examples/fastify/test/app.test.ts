import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { collected } from "@svc-webhooks/kit/collected";
import {
  exampleSecret,
  expectedResponses,
  responsesOf,
  testReadmeCurl,
} from "@svc-webhooks/kit/examples";
import { testPosix } from "@svc-webhooks/kit/systems";
import { until } from "@svc-webhooks/kit/until";
import { expect, onTestFinished, test } from "vitest";
import { textOf } from "../../../test/package/readme.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** Starts the app as `npm start` does, on a free port. */
async function start() {
  const child = spawn(process.execPath, ["app.mjs"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_WEBHOOK_SECRET: exampleSecret, PORT: "0" },
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const printed = collected(child.stdout);
  const whole = text(child.stdout);
  await until(() => /^Listening on .*\n/.test(printed()), "the app listens");
  const port = /:(\d+)\n/.exec(printed())?.[1];
  return { child, exited, whole, port, origin: `http://127.0.0.1:${port}` };
}

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
    const { child, exited, whole, port, origin } = await start();
    expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
    child.kill(signal);
    expect(await exited).toEqual([0, null]);
    const [, shown] =
      /^```\n(Listening[^]*?)^```$/m.exec(textOf("examples/fastify/README.md")) ?? [];
    const lines = (await whole).split("\n").filter((line) => !line.startsWith("{"));
    expect(lines.join("\n").replace(`:${port}`, ":3000")).toBe(shown);
  },
);

testReadmeCurl(folder, async () => (await start()).origin);
