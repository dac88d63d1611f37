import { expect, test } from "vitest";
import { runSandboxChaos } from "./sandbox/run.js";
import { nothingWrong } from "./sandbox/verdict.js";

const seeds = process.env["CHAOS_SEED"]?.split(",") ?? ["1"];

test.for(seeds)(
  "a sandbox that is killed 200 times keeps each send and each delivery, seed %s",
  async (seed, { signal }) => {
    const { verdict, summary } = await runSandboxChaos({ seed, kills: 200, signal });
    console.log(summary);
    expect(verdict).toEqual(nothingWrong);
  },
);
