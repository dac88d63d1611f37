import type { LookupFunction } from "node:net";
import { sign, type SecretKey } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import type { CaseLevel, CaseSource } from "./cases/case.js";
import { assertTimeout } from "./checks.js";
import { examinationOf, type ExaminedCase } from "./examination.js";
import { MinorFailure } from "./minor-failure.js";
import { isHttpUrl } from "./mount.js";
import { eventIdOf, Runs } from "./runs.js";

export interface ReceiverConformanceOptions {
  /**
   * The key that signs: the receiver's secret or, if the keys differ, the sender's private key. Required, so that no
   * run uses a default secret by mistake.
   */
  readonly secret: SecretKey;
  /** The time limit for each response, in whole milliseconds, 1 … 60,000. Large bodies get more time. Default 3,000. */
  readonly timeoutMs?: number | undefined;
  /** The sender: a name of `senders` in `svc-webhooks/schemes/senders`. Default: the service. */
  readonly scheme?: SenderName | undefined;
  /** Ends the run early: the promise then rejects with the signal's reason. Default: the run is not ended early. */
  readonly signal?: AbortSignal | undefined;
  /** Resolves the URL's host, for callers that have checked its addresses. Default: the system's DNS lookup. */
  readonly lookup?: LookupFunction | undefined;
  /**
   * Called with the error if the receiver fails the first case, for example because no response arrived. Returns the
   * reason and the fix in whole sentences, or undefined to use the default text.
   */
  readonly explainError?:
    ((error: Error) => string | undefined | Promise<string | undefined>) | undefined;
  /** Called with each result as soon as it is known. Its index starts at 0. */
  readonly onResult?:
    ((result: ConformanceResult, index: number, total: number) => void) | undefined;
  /**
   * Called once and awaited, before the first case, with a function. The receiver's handler must call this function
   * with each event that it handles, and await it: a rejection means that this run of the handler must fail. The ids in
   * the event must be those in the delivery's body. Without this option, cases that depend on the handler are
   * `"not_applicable"`, unless the responses alone show a failure.
   */
  readonly onHandler?: ((handler: (event: unknown) => Promise<void>) => unknown) | undefined;
}

export interface ConformanceResult {
  readonly title: string;
  /**
   * The level of the case, or `"should"` if the receiver fails a `"must"` case only because it breaks a recommendation.
   * For example, it refuses a forgery with a 5xx status instead of a 4xx.
   */
  readonly level: CaseLevel;
  readonly source: CaseSource;
  readonly status: "passed" | "failed" | "not_applicable";
  /**
   * The reason for a failure and its fix, or the reason why the case could not be judged. It quotes no header and no
   * body of a response. Undefined if the receiver passed.
   */
  readonly reason?: string;
}

const unseen =
  "The responses alone do not show how often the receiver's handler ran. To judge this, use `onHandler` (--handler-port).";

const optionNames = [
  "secret",
  "timeoutMs",
  "scheme",
  "signal",
  "lookup",
  "explainError",
  "onResult",
  "onHandler",
] as const;

/**
 * Runs the cases of `receiverContract` on a receiver that is reachable only by its URL. Needs no test runner. Resolves
 * to one result for each case, always in the same order. The receiver may be written in any language. If it fails the
 * first case, a genuine delivery, the others are not run, and their status is `"not_applicable"`.
 *
 * The receiver must subscribe to `email.sent` or, with `scheme`, to every type. Its handler runs for each genuine
 * delivery: about 50 times, and about 70 times with `onHandler`. All requests go to the URL, and redirects are not
 * followed. At most 1 MiB of a response is read.
 *
 * @param url the `http` or `https` URL of the receiver, on any host
 * @throws ConfigError (as a rejection) `invalid_option`; `unknown_option`; `invalid_secret` for a secret that
 *   cannot sign. The receiver's behavior never causes a rejection.
 *
 * @example
 * ```ts
 * import { receiverConformance } from "@svc-webhooks/testing/conformance";
 *
 * const results = await receiverConformance("http://127.0.0.1:3000/webhooks", {
 *   secret: "whsec_test",
 * });
 * for (const { status, level, title, reason } of results) {
 *   if (status === "failed") console.log(`${level}: ${title}: ${reason}`);
 * }
 * ```
 */
export async function receiverConformance(
  url: string,
  options: ReceiverConformanceOptions,
): Promise<readonly ConformanceResult[]> {
  assertOptions(options, optionNames);
  const { secret, timeoutMs = 3_000, scheme, signal, lookup, onResult, onHandler } = options;
  assertValid(isHttpUrl(url), "url", "`url` must be the http or https URL of a running receiver.");
  assertTimeout(timeoutMs);
  // Rejects if the secret is invalid, before `onHandler` is called.
  if (!scheme) await sign("", secret);

  const runsOf = new Map<string, Runs>();
  let current = new Runs();
  // Finds the runs by event id, because a handler may run after its case has ended.
  const handler = (event: unknown) =>
    (runsOf.get(String(eventIdOf(event))) ?? current).handler(event);
  await onHandler?.(handler);

  const cases = examinationOf({
    mount: () => url,
    hasHandler: onHandler !== undefined,
    isShared: true,
    start: "Start the receiver, and check its URL.",
    secret,
    timeoutMs,
    scheme,
    connecting: { lookup, signal },
    explainError: options.explainError,
    onEvent(eventId, runs) {
      runsOf.set(eventId, runs);
      current = runs;
    },
  });
  const results: ConformanceResult[] = [];
  for (const [index, testCase] of cases.entries()) {
    const isBarred = results[0]?.status === "failed";
    const result = isBarred
      ? resultOf(testCase, scheme, "not_applicable", "The receiver failed the first case.")
      : await judged(testCase, options);
    signal?.throwIfAborted();
    results.push(result);
    onResult?.(result, index, cases.length);
  }
  return results;
}

async function judged(
  testCase: ExaminedCase,
  { scheme, signal, onHandler }: ReceiverConformanceOptions,
): Promise<ConformanceResult> {
  signal?.throwIfAborted();
  if (testCase.reasonToSkip) {
    const reason =
      testCase.reasonToSkip === "handler"
        ? unseen
        : `This case does not apply to the sender ${scheme}.`;
    return resultOf(testCase, scheme, "not_applicable", reason);
  }
  try {
    await testCase.attempt();
  } catch (error) {
    signal?.throwIfAborted();
    // An invalid key of a scheme is the caller's mistake, not the receiver's.
    if ((error as Error).name === "ConfigError") throw error;
    const { message, cause } = error as Error;
    const result = resultOf(testCase, scheme, "failed", message);
    return cause instanceof MinorFailure ? { ...result, level: "should" } : result;
  }
  return testCase.showsOnlyInRuns && !onHandler
    ? resultOf(testCase, scheme, "not_applicable", unseen)
    : resultOf(testCase, scheme, "passed");
}

const resultOf = (
  { title, level, schemeLevel, source, schemeSource }: ExaminedCase,
  scheme: SenderName | undefined,
  status: ConformanceResult["status"],
  reason?: string,
): ConformanceResult => ({
  title,
  level: (scheme && schemeLevel) || level,
  source: (scheme && schemeSource) || source,
  status,
  ...(reason !== undefined && { reason }),
});
