import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import {
  exampleSecret,
  expectedResponses,
  responsesOf,
  testReadmeCurl,
} from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** Starts the app as `npm start` does, on a free port. */
async function start() {
  const child = spawn(process.execPath, ["dist/main.js"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_WEBHOOK_SECRET: exampleSecret, PORT: "0" },
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const lines: string[] = [];
  const output = createInterface(child.stdout).on("line", (line) => lines.push(line));
  const printed = async (text: string) => {
    for (;;) {
      const match = lines.find((line) => line.startsWith(text));
      if (match !== undefined) return match;
      await once(output, "line");
    }
  };
  const port = Number((await printed("Listening on")).split(":").at(-1));
  return { child, exited, lines, printed, origin: `http://127.0.0.1:${port}` };
}

test("processes a delivery once and refuses a forged one", async () => {
  const { origin, lines, printed } = await start();
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
  await printed("delivered: msg_1");
  expect(lines.filter((line) => line === "delivered: msg_1")).toHaveLength(1);
});

testPosix("closes the store on SIGTERM and exits", async () => {
  const { child, exited, printed } = await start();
  child.kill("SIGTERM");
  await printed("mailboxes closed");
  // Nest sends the signal to the process again after its hooks.
  expect(await exited).toEqual([null, "SIGTERM"]);
});

testReadmeCurl(folder, async () => (await start()).origin);
