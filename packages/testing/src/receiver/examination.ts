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
  /** Whether `mount` passes the handler to the receiver. */
  readonly hasHandler: boolean;
  /** Whether all cases use one receiver, whose records and locks outlast a case. */
  readonly isShared: boolean;
  /** The fix for a receiver that cannot be reached. */
  readonly start: string;
  readonly secret: SecretKey;
  readonly timeoutMs: number;
  readonly scheme: SenderName | undefined;
  readonly connecting?: Connecting | undefined;
  /** Returns the text for an error of the first case, or undefined. */
  readonly explainError?:
    ((error: Error) => string | undefined | Promise<string | undefined>) | undefined;
  readonly onEvent?: ((eventId: string, runs: Runs) => void) | undefined;
}

/** A case that applies to a receiver, or the reason why it does not. */
export interface ExaminedCase extends ReceiverCase {
  readonly reasonToSkip: "handler" | "scheme" | undefined;
  /** Runs the case. Rejects if the receiver fails it. */
  readonly attempt: () => Promise<void>;
}

/** Returns the cases for a receiver, in order. The first one is the precondition of all others. */
export function examinationOf(options: ExaminationOptions): readonly ExaminedCase[] {
  const { mount, hasHandler, isShared, start, scheme } = options;
  const sender = scheme && senderOf(scheme);
  /** The {@link ReceiverProbe.hasForged} of a receiver that all cases share. */
  let hasForged = false;

  const attempt = async (one: ReceiverCase): Promise<void> => {
    // The probe needs the URL, and the receiver needs the probe's handler.
    let probe: ReceiverProbe | undefined;
    const handler = async (event: unknown) => probe?.runs.handler(event);
    await whileMounted(mount, handler, async (url) => {
      probe = new ReceiverProbe(url, options);
      probe.hasForged = hasForged;
      try {
        for (const [, , change] of one.forgeries ?? []) await probe.refusesChanged(change);
        await one.run?.(probe);
        if (probe.minorFailure) throw probe.minorFailure;
      } catch (error) {
        if (one !== genuine) await probe.expectUnlocked();
        else {
          const text = await options.explainError?.(error as Error);
          if (text !== undefined) throw new PreconditionError(text, { cause: error });
        }
        throw failureOf(error, one.fix, url, start);
      } finally {
        hasForged = isShared && probe.hasForged;
      }
      if (probe.hasForged) await probe.expectUnlocked();
    });
  };

  function reasonToSkip(one: ReceiverCase): ExaminedCase["reasonToSkip"] {
    if (one.needsHandler && !hasHandler) return "handler";
    return appliesTo(sender, one) ? undefined : "scheme";
  }

  return casesFor(sender).map((one) => ({
    ...one,
    reasonToSkip: reasonToSkip(one),
    attempt: () => attempt(one),
  }));
}
