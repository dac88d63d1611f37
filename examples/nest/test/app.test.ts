import { fileURLToPath } from "node:url";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import {
  expectedResponses,
  responsesOf,
  startExample,
  testReadmeCurl,
} from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

const start = () => startExample(folder, "dist/main.js");

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
