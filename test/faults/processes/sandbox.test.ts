import { expect, test } from "vitest";
import { runSandboxChaos } from "./sandbox/run.js";
import { nothingWrong } from "./sandbox/verdict.js";

const { CHAOS_SEED: seed = String(Date.now() % 100_000) } = process.env;

test(`a sandbox that is killed keeps each send and each delivery (CHAOS_SEED=${seed} repeats it)`, async ({
  signal,
}) => {
  const { verdict, summary } = await runSandboxChaos({ seed, kills: 10, signal });
  console.log(summary);
  expect(verdict).toEqual(nothingWrong);
}, 60_000);

test("a sandbox that writes its file after the response loses sends", async ({ signal }) => {
  const { verdict, summary } = await runSandboxChaos({
    seed: "1",
    kills: 10,
    writes: "later",
    signal,
  });
  console.log(summary);
  expect(verdict.lost).not.toEqual([]);
}, 60_000);
