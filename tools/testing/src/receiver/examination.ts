import type { SecretKey } from "@svc-webhooks/core";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import type { Connecting } from "../http-sender.js";
import { senderOf } from "../scheme-delivery.js";
import { appliesTo, casesFor } from "./cases.js";
import type { ReceiverCase } from "./cases/case.js";
import { genuine } from "./cases/genuine.js";
import { PreconditionError } from "../precondition-error.js";
import { failureOf } from "./failure.js";
import { whileMounted, type MountReceiver } from "./mount.js";
import { ReceiverProbe } from "./probe.js";
import type { Runs } from "./runs.js";

export interface ExaminationOptions {
  readonly mount: MountReceiver;
  /** Whether the receiver calls the contract's handler, so that its runs can be counted. */
  readonly hasHandler: boolean;
  /** Whether all cases use one receiver, whose records and lockouts outlast a case. */
  readonly isShared: boolean;
  /** The fix for a receiver that cannot be reached, as a sentence. */
  readonly start: string;
  readonly secret: SecretKey;
  readonly timeoutMs: number;
  readonly scheme: SenderName | undefined;
  readonly connecting?: Connecting | undefined;
  /** Returns the text for a failure of the first case, or undefined for the default text. */
  readonly explainError?:
    ((error: Error) => string | undefined | Promise<string | undefined>) | undefined;
  readonly onEvent?: ((eventId: string, runs: Runs) => void) | undefined;
}

/** A case that can be run, with the reason to skip it for this receiver or sender, if there is one. */
export interface ExaminedCase extends ReceiverCase {
  readonly reasonToSkip: "handler" | "scheme" | undefined;
  /** Runs the case. Rejects if the receiver fails it. */
  readonly attempt: () => Promise<void>;
}

/** Returns the cases for a receiver, in order. The first one is the precondition of all others. */
export function examinationOf(options: ExaminationOptions): readonly ExaminedCase[] {
  const { mount, hasHandler, isShared, start, scheme } = options;
  const sender = scheme && senderOf(scheme);
  /** Whether an earlier case has sent this receiver a forgery. Always false if each case has its own receiver. */
  let hasForged = false;

  const attempt = async (testCase: ReceiverCase): Promise<void> => {
    // Undefined until the receiver is mounted: the probe needs its URL, but `mount` needs the handler first.
    let probe: ReceiverProbe | undefined;
    const handler = async (event: unknown) => probe?.runs.handler(event);
    await whileMounted(mount, handler, async (url) => {
      probe = new ReceiverProbe(url, options);
      probe.hasForged = hasForged;
      try {
        for (const [, , change] of testCase.forgeries ?? []) await probe.refusesChanged(change);
        await testCase.run?.(probe);
        if (probe.minorFailure) throw probe.minorFailure;
      } catch (error) {
        if (testCase !== genuine) await probe.expectUnlocked();
        else {
          const text = await options.explainError?.(error as Error);
          if (text !== undefined) throw new PreconditionError(text, { cause: error });
        }
        throw failureOf(error, testCase.fix, url, start);
      } finally {
        hasForged = isShared && probe.hasForged;
      }
      if (probe.hasForged) await probe.expectUnlocked();
    });
  };

  function reasonToSkip(testCase: ReceiverCase): ExaminedCase["reasonToSkip"] {
    if (testCase.needsHandler && !hasHandler) return "handler";
    return appliesTo(sender, testCase) ? undefined : "scheme";
  }

  return casesFor(sender).map((testCase) => ({
    ...testCase,
    reasonToSkip: reasonToSkip(testCase),
    attempt: () => attempt(testCase),
  }));
}
