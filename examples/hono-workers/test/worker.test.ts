import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { spawned, type Served } from "../../../test/runtimes/launch.js";
import {
  answersOf,
  exampleSecret,
  expectedAnswers,
  testReadmeCurl,
} from "../../../test/support/examples.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

let served: Served;
beforeAll(async () => {
  vi.stubEnv("SVC_WEBHOOK_SECRET", exampleSecret);
  vi.stubEnv("PORT", "0");
  served = await spawned(process.execPath, `${folder}start.js`);
}, 30_000);
afterAll(() => served?.close());

test("a delivery is processed once, a forged one not at all", async () => {
  expect(await answersOf(`${served.origin}/webhooks`)).toEqual(expectedAnswers);
});

testReadmeCurl(folder, () => served.origin);
