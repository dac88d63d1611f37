import type { Sender } from "@svc-webhooks/schemes/senders";
import { bytes } from "./cases/bytes.js";
import type { ReceiverCase } from "./cases/case.js";
import type { Forgery } from "./forgery.js";
import { forgeries } from "./cases/forgeries.js";
import { genuine } from "./cases/genuine.js";
import { late } from "./cases/late.js";
import { runs } from "./cases/runs.js";
import { strangers } from "./cases/strangers.js";
import { times } from "./cases/times.js";

/** Returns the cases of the contract, in order. The first case is the precondition of all others. */
export const casesFor = (sender: Sender | undefined): readonly ReceiverCase[] => [
  genuine,
  ...bytes,
  ...forgeries,
  ...strangers,
  ...(sender?.isTimed ? times : []),
  ...runs,
  ...late,
];

/** Returns whether a case applies to a sender. Undefined stands for the service, to which every case applies. */
export const appliesTo = (
  sender: Sender | undefined,
  { isSkippedFor }: Pick<ReceiverCase, "isSkippedFor">,
): boolean => !(sender && isSkippedFor?.(sender));

/**
 * Returns the forgeries of the cases that apply to a sender, for the command `svc-webhooks doctor`.
 *
 * @param sender undefined for the service
 */
export const receiverForgeries = (sender: Sender | undefined): readonly Forgery[] =>
  casesFor(sender).flatMap((testCase) =>
    appliesTo(sender, testCase) ? (testCase.forgeries ?? []) : [],
  );
