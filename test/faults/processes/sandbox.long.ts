import { expect, test } from "vitest";
import { runSandboxChaos } from "./sandbox/run.js";
import { nothingWrong } from "./sandbox/verdict.js";

const seeds = process.env["CHAOS_SEED"]?.split(",") ?? ["1", String(Date.now() % 100_000)];

test.for(seeds)(
  "a sandbox that is killed 200 times keeps each send and each delivery, seed %s",
  // Killing and restarting the sandbox takes two seconds on a busy machine.
  { timeout: 900_000 },
  async (seed, { signal }) => {
    const { verdict, summary } = await runSandboxChaos({ seed, kills: 200, signal });
    console.log(summary);
    expect(verdict).toEqual(nothingWrong);
  },
);

test("a sandbox that writes its file after the response loses sends", async ({ signal }) => {
  const { verdict, summary } = await runSandboxChaos({
    seed: "1",
    kills: 10,
    writes: "later",
    signal,
  });
  console.log(summary);
  expect(verdict.lost).not.toEqual([]);
});
