import type { MaybePromise } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { assertWhole } from "@svc-webhooks/core/inbox";
import type { TestRunner } from "../runner.js";
import { inboxCases } from "./cases.js";
import { partitionBy } from "./cases/order.js";
import { InboxProbe, mib, type InboxCase } from "./probe.js";
import type { InboxSettings, InboxUnderTest } from "./subject.js";

/** Creates an empty queue with these settings. Called for each case. */
export type MakeInbox = (settings: InboxSettings) => MaybePromise<InboxUnderTest>;

/** The options of `inboxContract`. A case that needs an ability that the queue lacks is not registered. */
export interface InboxContractOptions {
  /** Whether the queue has the functions for operators. Default true. Errors: `invalid_option`. */
  readonly admin?: boolean | undefined;
  /** Whether all copies of an event share one job until that job is done. Default true. Errors: `invalid_option`. */
  readonly deduplicates?: boolean | undefined;
  /**
   * Whether the events reach the queue through an intake instead of a receiver. Default false. Errors:
   * `invalid_option`.
   */
  readonly intake?: boolean | undefined;
  /** Whether the connections under test have `kill`. Default true. Errors: `invalid_option`. */
  readonly kill?: boolean | undefined;
  /** Whether the queues under test have `demote`. Default false. Errors: `invalid_option`. */
  readonly demote?: boolean | undefined;
  /** Whether the queues under test have `fill`. Default false. Errors: `invalid_option`. */
  readonly fill?: boolean | undefined;
  /** Whether the queue keeps the order of events with the same key. Default false. Errors: `invalid_option`. */
  readonly order?: boolean | undefined;
  /** Whether the connections under test have `silence`. Default false. Errors: `invalid_option`. */
  readonly silence?: boolean | undefined;
  /** The largest body that the queue stores, in bytes, 1,024 or more. Default 1,048,576. Errors: `invalid_option`. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * How long a case waits for each of its conditions, in milliseconds of the queue's clock, 1 … 600,000. Default
   * 120,000, because a queue may need long to notice that a worker died. Errors: `invalid_option`.
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Registers the tests that every queue of an inbox must pass: `inboxContract({ describe, it }, "my queue", makeInbox)`.
 * They cover durable storage, exact bytes, copies, retries, dead letters, jobs that were changed, workers that end and,
 * depending on the options, the functions for operators, the order of events, and lost connections. If the queue uses
 * real time, a case takes seconds, or as long as the queue needs to notice that a worker died, so raise the time limit
 * of your test runner.
 *
 * @throws ConfigError `invalid_option` if `makeInbox` is not a function, or for an invalid option;
 *   `unknown_option`
 *
 * @example
 * ```ts
 * import { describe, it } from "node:test";
 * import { fakeClock } from "@svc-webhooks/testing";
 * import { inboxContract, memoryInbox } from "@svc-webhooks/testing/inbox";
 *
 * inboxContract(
 *   { describe, it },
 *   "the inbox in memory",
 *   ({ attempts }) => {
 *     const clock = fakeClock();
 *     const inbox = memoryInbox({ clock, retry: { limit: attempts } });
 *     const connection = {
 *       inbox,
 *       admin: inbox.admin,
 *       async work(receiver: Parameters<typeof inbox.work>[0]) {
 *         const worker = await inbox.work(receiver);
 *         return { stop: () => worker.stop({ deadlineMs: 10_000 }) };
 *       },
 *     };
 *     return {
 *       clock,
 *       connect: () => connection,
 *       inject: (data) => inbox.add(data),
 *     };
 *   },
 *   { kill: false },
 * );
 * ```
 */
export function inboxContract(
  { describe, it }: TestRunner,
  name: string,
  makeInbox: MakeInbox,
  options: InboxContractOptions = {},
): void {
  assertOptions(options, [
    "admin",
    "deduplicates",
    "demote",
    "fill",
    "intake",
    "kill",
    "order",
    "silence",
    "maxBodyBytes",
    "timeoutMs",
  ]);
  const { admin = true, deduplicates = true, kill = true } = options;
  const { demote = false, fill = false, order = false, silence = false, intake = false } = options;
  const { maxBodyBytes = mib, timeoutMs = 120_000 } = options;
  assertValid(
    typeof makeInbox === "function",
    "makeInbox",
    "`makeInbox` must be a function that returns `{ connect, inject }`.",
  );
  const abilities = { admin, deduplicates, demote, fill, kill, order, silence };
  for (const [option, value] of Object.entries({ ...abilities, intake })) {
    assertValid(typeof value === "boolean", option, `\`${option}\` must be true or false.`);
  }
  assertWhole(maxBodyBytes, "maxBodyBytes", 1_024, Number.MAX_SAFE_INTEGER);
  assertWhole(timeoutMs, "timeoutMs", 1, 600_000);

  const can = { ...abilities, limit: maxBodyBytes < mib };

  const test = async ({ settings = {}, needs = [], run }: InboxCase): Promise<void> => {
    const { attempts = 3, afterDead } = settings;
    const subject = await makeInbox({
      attempts,
      ...(needs.includes("order") && { partitionBy, afterDead }),
    });
    try {
      await run(new InboxProbe(subject, { intake, maxBodyBytes, timeoutMs }));
    } finally {
      await subject.close?.();
    }
  };

  describe(name, () => {
    for (const testCase of inboxCases) {
      if (testCase.needs?.every((ability) => can[ability]) ?? true)
        it(testCase.title, () => test(testCase));
    }
  });
}
