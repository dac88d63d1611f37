import type { DeliveryStore } from "@svc-webhooks/core";
import type { TestRunner } from "./adapter-contract.js";
import { storeCases } from "./store-cases.js";
import { StoreProbe } from "./store-probe.js";

export interface StoreUnderTest {
  /** Without records. */
  readonly store: DeliveryStore;
  /**
   * Moves the time by which the store judges leases and retention, as if so many milliseconds (a whole
   * number) had passed: its clock, or the times in its records. Awaited. Negative where the clock is
   * set back: by an hour at most. A clock made for the test begins later than 2020: fences are epoch
   * milliseconds.
   */
  readonly advance: (ms: number) => unknown;
  /**
   * Whether that time stands still between calls of `advance`, and fences are taken from it. Leases,
   * retention and fences are then tested to the millisecond; otherwise the store's clock may go on by
   * up to a second in a case. Default false.
   */
  readonly exactClock?: boolean | undefined;
  /** Called after each case, and awaited. */
  readonly close?: (() => unknown) | undefined;
}

/** Called for each case. */
export type MakeStore = () => StoreUnderTest | Promise<StoreUnderTest>;

export interface StoreContractOptions {
  /** How many random sequences, of some 30 calls and waits, are compared with the model. Default 100. */
  readonly modelRuns?: number | undefined;
}

/**
 * What `DeliveryStore` promises, as tests: `storeContract({ describe, it }, "my store", makeStore)`.
 * The table of states and calls cell by cell, leases, retention, fences, what happens at once, hostile
 * strings, and a random model test. Nothing waits for the wall clock.
 *
 * What a store evicts, and how it fails when it is out of reach, is its own business.
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
