import type { SecretKey } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import type { TestRunner } from "../runner.js";
import { assertTimeout } from "./checks.js";
import { examinationOf, type ExaminedCase } from "./examination.js";
import { isHttpUrl, type MountReceiver } from "./mount.js";

/** The test functions, with `it.skip` if the runner has it. */
export interface SkippingTestRunner extends TestRunner {
  readonly it: TestRunner["it"] & { readonly skip?: TestRunner["it"] | undefined };
}

export interface ReceiverContractOptions {
  /** The secret with which the receiver verifies signatures. Default `"whsec_test"`. */
  readonly secret?: SecretKey | undefined;
  /** The time limit for each response, in whole milliseconds, 1 … 60,000. Large bodies get more time. Default 3,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * The sender: `"stripe"`, `"github"` or another name of `senders` in `svc-webhooks/schemes/senders`. With a sender,
   * `secret` is the key that signs: the receiver's secret, or the sender's private key if the keys differ. Default: the
   * service.
   */
  readonly scheme?: SenderName | undefined;
}

/**
 * Registers the tests that every receiver of webhooks should pass, whether it uses this library or not, one for each
 * known way to accept a forgery, refuse a genuine delivery, or lose or repeat an event: `receiverContract({ describe,
 * it }, "my receiver", mount)`. Most failures state what happened and the fix. If the first case, a genuine delivery,
 * fails, the others fail with "See the first case.". A case fails with "Not checked" if, at its end, the receiver
 * responds to genuine deliveries with a 4xx or not at all, as after a lockout for wrong signatures. Vitest, Jest,
 * `node:test`, Bun and Mocha have `describe` and `it`. At most 1 MiB of a response is read.
 *
 * With `scheme`, another sender signs the deliveries, and the receiver must call `handler` for events of every type.
 * The cases that do not apply to the sender are skipped, such as those about unsigned ids if the sender signs its ids.
 *
 * With the URL of a running receiver in place of `mount`, the cases that need its handler are skipped, and runs of the
 * handler are not counted. The deliveries have new ids in each run. Where the runner has no `it.skip`, a skipped case
 * is a passing test whose title ends in the reason, such as `(skipped: it needs mount)`.
 *
 * @throws ConfigError `invalid_option` if `mount` is neither a function nor a URL, or for an invalid option;
 *   `unknown_option`
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { describe, it } from "node:test";
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/node";
 * import { receiverContract } from "@svc-webhooks/testing/receiver";
 *
 * receiverContract({ describe, it }, "my receiver", async (handler) => {
 *   const receiver = createReceiver({
 *     secret: "whsec_test",
 *     dedupeBy: "event",
 *     eventId: (body) => (typeof body.event_id === "string" ? body.event_id : undefined),
 *     on: { "email.sent": handler },
 *     logger: { info() {}, warn() {}, error() {} },
 *   });
 *   const server = createServer(webhooks(receiver));
 *   await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
 *   const address = server.address();
 *   const port = typeof address === "object" ? address?.port : undefined;
 *   return { url: `http://127.0.0.1:${port}/webhooks`, close: () => server.close() };
 * });
 * ```
 */
export function receiverContract(
  { describe, it }: SkippingTestRunner,
  name: string,
  mount: MountReceiver | string,
  options: ReceiverContractOptions = {},
): void {
  assertOptions(options, ["secret", "timeoutMs", "scheme"]);
  const { secret = "whsec_test", timeoutMs = 3_000, scheme } = options;
  assertContract(mount, timeoutMs);
  const isUrl = typeof mount === "string";
  const cases = examinationOf({
    mount: isUrl ? () => mount : mount,
    hasHandler: !isUrl,
    isShared: isUrl,
    start: "Start the receiver before the contract runs, or in `mount` before it returns the URL.",
    secret,
    timeoutMs,
    scheme,
  });
  const [precondition] = cases;

  let first: Promise<void> | undefined;
  const attemptFirst = () => (first = precondition?.attempt() ?? Promise.resolve());

  const test = async (testCase: ExaminedCase): Promise<void> => {
    if (testCase === precondition) return attemptFirst();
    // The runner may have filtered the first case out.
    if (!first) await attemptFirst();
    else {
      await first.catch(() => {
        throw new Error("See the first case.");
      });
    }
    return testCase.attempt();
  };

  const reasons = { handler: "it needs mount", scheme: `it does not apply to ${scheme}` };

  describe(name, () => {
    for (const testCase of cases) {
      const reason = testCase.reasonToSkip && reasons[testCase.reasonToSkip];
      if (!reason) it(testCase.title, () => test(testCase));
      else if (it.skip) it.skip(testCase.title, () => test(testCase));
      else it(`${testCase.title} (skipped: ${reason})`, () => Promise.resolve());
    }
  });
}

function assertContract(mount: unknown, timeoutMs: number): void {
  assertValid(
    typeof mount === "function" || isHttpUrl(mount),
    "mount",
    "`mount` must be a function that serves the receiver, or the URL of a running receiver.",
  );
  assertTimeout(timeoutMs);
}
