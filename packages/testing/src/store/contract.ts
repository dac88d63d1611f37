import type { TestRunner } from "../runner.js";
import { storeCases } from "./cases.js";
import { StoreProbe, type StoreUnderTest } from "./probe.js";

/** Creates the store under test. Called for each case. */
export type MakeStore = () => StoreUnderTest | Promise<StoreUnderTest>;

export interface StoreContractOptions {
  /** The number of random sequences, of about 30 calls and waits each, to compare with the model. Default 100. */
  readonly modelRuns?: number | undefined;
}

/**
 * Registers the tests of what `DeliveryStore` promises: `storeContract({ describe, it }, "my store",
 * makeStore)`. They cover each cell of the table of states and calls, leases, retention, fences,
 * concurrent calls, hostile strings, and random sequences. No test waits for the wall clock.
 *
 * The contract does not cover eviction and failures to reach a server.
 *
 * @example
 * ```ts
 * import { describe, it } from "node:test";
 * import { memoryStore } from "@svc-webhooks/core";
 * import { fakeClock } from "@svc-webhooks/testing";
 * import { storeContract } from "@svc-webhooks/testing/store";
 *
 * storeContract({ describe, it }, "my store", () => {
 *   const clock = fakeClock();
 *   return { store: memoryStore({ clock }), advance: clock.jump, exactClock: true };
 * });
 * ```
 */
export function storeContract(
  { describe, it }: TestRunner,
  name: string,
  makeStore: MakeStore,
  { modelRuns = 100 }: StoreContractOptions = {},
): void {
  describe(name, () => {
    for (const { title, run } of storeCases(modelRuns)) {
      it(title, async () => {
        const made = await makeStore();
        try {
          await run(new StoreProbe(made));
        } finally {
          await made.close?.();
        }
      });
    }
  });
}
