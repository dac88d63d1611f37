import { sized } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";
import { runSandboxChaos } from "./sandbox/run.js";
import { nothingWrong } from "./sandbox/verdict.js";

/** The seeds: one that every run repeats, and in full a new one. `CHAOS_SEED` replaces them. */
const seeds =
  process.env["CHAOS_SEED"]?.split(",") ?? sized(["1"], ["1", String(Date.now() % 100_000)]);

const kills = sized(20, 200);

test.for(seeds)(
  `a sandbox that is killed ${kills} times keeps each send and each delivery, seed %s`,
  async (seed, { signal }) => {
    const { verdict, summary } = await runSandboxChaos({ seed, kills, signal });
    console.log(summary);
    expect(verdict).toEqual(nothingWrong);
  },
);
