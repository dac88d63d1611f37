import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { nextDev, type Served } from "../../../test/runtimes/launch.js";
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

  served = await nextDev(folder);
}, 120_000);
afterAll(() => served?.close());

test("a delivery is processed once, a forged one not at all", async () => {
  expect(await answersOf(`${served.origin}/api/webhooks`)).toEqual(expectedAnswers);
});

testReadmeCurl(folder, () => served.origin);
