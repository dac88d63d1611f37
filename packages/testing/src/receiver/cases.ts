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

/** Returns the cases of the contract, in order. All others depend on the first. */
export const casesFor = (sender: Sender | undefined): readonly ReceiverCase[] => [
  genuine,
  ...bytes,
  ...forgeries,
  ...strangers,
  ...(sender?.isTimed ? times : []),
  ...runs,
  ...late,
];

/** Returns whether a case applies to a sender. Every case applies to the service (undefined). */
export const appliesTo = (
  sender: Sender | undefined,
  { isSkippedFor }: Pick<ReceiverCase, "isSkippedFor">,
): boolean => !(sender && isSkippedFor?.(sender));

/**
 * Returns the forgeries of the cases that apply to a sender, with their findings, for `doctor`.
 *
 * @param sender undefined for the service
 */
export const receiverForgeries = (sender: Sender | undefined): readonly Forgery[] =>
  casesFor(sender).flatMap((testCase) =>
    appliesTo(sender, testCase) ? (testCase.forgeries ?? []) : [],
  );
