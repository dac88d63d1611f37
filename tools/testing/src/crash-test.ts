import type { CrashTestReport } from "@svc-webhooks/crash-test";
import type { CrashTestOptions, IntakeCrashTestOptions } from "./crash-test/options.js";
import type { PgPool } from "./crash-test/postgres/pool.js";
import { problemOf, run } from "./crash-test/run.js";

export { CrashTestError } from "@svc-webhooks/crash-test";
export type {
  CrashTestErrorCode,
  CrashTestReport,
  FaultKind,
  Finding,
  FindingKind,
  HistoryLine,
} from "@svc-webhooks/crash-test";
export type { Accepts } from "./accepting.js";
export type { CrashTestOptions, IntakeCrashTestOptions } from "./crash-test/options.js";
export type { PgClient, PgPool, PgResult } from "./crash-test/postgres/pool.js";
export type { EffectOptions } from "./crash-test/surface/effect.js";
export type { World } from "./crash-test/world.js";

/**
 * Delivers events to your receiver or your intake, injects faults at the points where your code calls the outside
 * world, and lets the sender retry. Then compares the effects with those of an undisturbed run. Resolves to the report,
 * unless there is a finding that you do not accept, or the test saw your code use something real into which it cannot
 * inject faults.
 *
 * While the test runs, time, random numbers and `fetch` are virtual for your code, but not for other tests in the
 * process.
 *
 * @throws CrashTestError (as a rejection) `findings`: there are findings that you do not accept, and the message is the
 *   report; `unseen_access`: your code used something real, such as a socket, a file or a process, into which no fault
 *   can be injected; `nondeterministic`, `not_acknowledged`, `no_effect`, `endless`, `accepted_not_found`,
 *   `invalid_option` (also if `receiver`, `intake`, `prepare` or `observe` throws an error, which is the `cause`),
 *   `package_missing`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { fixture } from "@svc-webhooks/testing";
 * import { crashTest } from "@svc-webhooks/testing/crash-test";
 *
 * await crashTest({
 *   events: [fixture("email.delivered")],
 *   receiver: ({ secret, clock, logger, store }) =>
 *     createReceiver({
 *       secret,
 *       clock,
 *       store,
 *       logger,
 *       on: {
 *         "email.delivered": async (_event, { idempotencyKey }) => {
 *           const { ok } = await fetch("https://api.example.com/charges", {
 *             method: "POST",
 *             headers: { "Idempotency-Key": idempotencyKey },
 *           });
 *           if (!ok) throw new Error("The charge failed.");
 *         },
 *       },
 *     }),
 * });
 * ```
 */
export async function crashTest<Pool = PgPool>(
  options: CrashTestOptions<Pool> | IntakeCrashTestOptions<Pool>,
): Promise<CrashTestReport> {
  const report = await run(options as CrashTestOptions | IntakeCrashTestOptions);
  const problem = problemOf(report);
  if (problem) throw problem;
  return report;
}

/**
 * Runs the same search as {@link crashTest}, but resolves to the report even if it has findings or unseen access. For
 * tools, and for tests that expect findings.
 *
 * @throws CrashTestError (as a rejection) `nondeterministic`, `not_acknowledged`, `no_effect`, `endless`,
 *   `accepted_not_found`, `invalid_option` (also if `receiver`, `intake`, `prepare` or `observe` throws an error, which
 *   is the `cause`), `package_missing`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
 * import { fixture } from "@svc-webhooks/testing";
 * import { crashReport } from "@svc-webhooks/testing/crash-test";
 *
 * const { findings } = await crashReport({
 *   events: [fixture("email.delivered")],
 *   receiver: ({ secret, clock, logger, store, effect }) => {
 *     const mail = effect("mail", () => {});
 *     return createReceiver({ secret, clock, store, logger, on: { "*": () => mail() } });
 *   },
 * });
 * assert.match(findings[0]?.advice ?? "", /^Pass `context.idempotencyKey` to `mail`\./);
 * ```
 */
export const crashReport = <Pool = PgPool>(
  options: CrashTestOptions<Pool> | IntakeCrashTestOptions<Pool>,
): Promise<CrashTestReport> => run(options as CrashTestOptions | IntakeCrashTestOptions);
