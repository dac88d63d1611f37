import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import type { TestRunner } from "../runner.js";
import { storeCases } from "./cases.js";
import { StoreProbe, type StoreUnderTest } from "./probe.js";

/** Creates the store under test. Called for each case. */
export type MakeStore = () => StoreUnderTest | Promise<StoreUnderTest>;

export interface StoreContractOptions {
  /**
   * The number of random sequences, of about 30 calls and waits each, whose results are compared with those of a model,
   * 1 … 1,000,000. Default 100. Errors: `invalid_option`.
   */
  readonly modelRuns?: number | undefined;
  /**
   * For stores that use a network. Permanently silences all of the store's open connections: replies are lost, but
   * nothing is closed. Requests must still arrive; otherwise the contract cannot detect a call that was executed but
   * reported as `not_sent`. New connections must work. With this option, the contract has an additional case, which
   * calls and awaits the function. The case waits for deadlines in real time, so it takes seconds. Errors:
   * `invalid_option`.
   */
  readonly abandon?: (() => unknown) | undefined;
}

/**
 * Registers the tests that every `DeliveryStore` must pass: `storeContract({ describe, it }, "my store", makeStore)`.
 * They cover each cell of the table of states and calls, leases, retention, fences, concurrent calls, hostile strings,
 * `peek` if the store has it, and random sequences. With `abandon`, they also cover connections that silently die; only
 * that test waits in real time.
 *
 * The contract covers neither eviction nor other failures to reach a server.
 *
 * @throws ConfigError `invalid_option` if `makeStore` is not a function, or for an invalid option;
 *   `unknown_option`
 *
 * @example
 * ```ts
 * import { describe, it } from "node:test";
 * import { memoryStore } from "svc-webhooks";
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
  options: StoreContractOptions = {},
): void {
  assertOptions(options, ["modelRuns", "abandon"]);
  const { modelRuns = 100, abandon } = options;
  assertContract(makeStore, modelRuns, abandon);
  describe(name, () => {
    for (const { title, run } of storeCases(modelRuns, abandon)) {
      it(title, async () => {
        const subject = await makeStore();
        try {
          await run(new StoreProbe(subject));
        } finally {
          await subject.close?.();
        }
      });
    }
  });
}

function assertContract(makeStore: unknown, modelRuns: number, abandon: unknown): void {
  assertValid(
    typeof makeStore === "function",
    "makeStore",
    "`makeStore` must be a function that returns `{ store, advance }`.",
  );
  assertValid(
    Number.isInteger(modelRuns) && modelRuns >= 1 && modelRuns <= 1_000_000,
    "modelRuns",
    "`modelRuns` must be an integer from 1 to 1,000,000.",
  );
  assertValid(
    abandon === undefined || typeof abandon === "function",
    "abandon",
    "`abandon` must be a function that silences the store's connections.",
  );
}
