import type { BodyDifference } from "@svc-webhooks/explain";
import type { Arrived, Judgement } from "./judge.js";
import type { Sender } from "./table.js";

/** A known mistake with a sender's deliveries. */
export interface SenderMistake {
  readonly id: string;
  /** Describes the mistake, in whole sentences. */
  readonly text: string;
  /** The fix, in whole sentences. */
  readonly remedy: string;
  /** The first difference between the signed bytes and the body. */
  readonly difference?: BodyDifference | undefined;
}

/** A request that was refused, and the keys to search with. */
export interface Refused {
  readonly sender: Sender;
  readonly arrived: Arrived;
  readonly judgement: Judgement;
  readonly secret: string;
  readonly previousSecrets: readonly string[];
}

/** Returns the mistake if it explains the refusal. */
export type Look = (refused: Refused) => Promise<SenderMistake | undefined>;
