import type { DeliveryStore } from "@svc-webhooks/core";
import type { TestRunner } from "../adapter/contract.js";
import { storeCases } from "./cases.js";
import { StoreProbe } from "./probe.js";

export interface StoreUnderTest {
  /** A store without records. */
  readonly store: DeliveryStore;
  /**
   * Moves the time that leases and retention depend on by an integer number of milliseconds: the store's
   * clock, or the times in its records. Awaited. Negative values set the clock back, by an hour at most.
   * A clock made for the test must start after 2020, because fences are epoch milliseconds.
   */
  readonly advance: (ms: number) => unknown;
  /**
   * Whether that time stands still between calls of `advance` and fences are taken from it. If true,
   * leases, retention and fences are tested to the millisecond; otherwise the store's clock may advance
   * by up to a second in a case. Default false.
   */
  readonly exactClock?: boolean | undefined;
  /** Called and awaited after each case. */
  readonly close?: (() => unknown) | undefined;
}

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
