import type { Scheme } from "@svc-webhooks/core";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import type { BodyDifference } from "../explain.js";
import type { MistakeId } from "../mistakes.js";
import type { Arrived } from "./arrived.js";
import type { Judgment } from "./judge.js";

/** The name of a known mistake in a sender's request. */
export type SenderMistakeId =
  | MistakeId
  | "sha1_header"
  | "other_scheme"
  | "time_in_milliseconds"
  | "duplicate_header"
  | "verification_token"
  | "secret_not_decoded"
  | "body_alone"
  | "body_changed"
  | "stale";

/** A known mistake in a sender's request. */
export interface SenderMistake {
  readonly id: SenderMistakeId;
  /** The cause, in whole sentences. */
  readonly cause: string;
  /** The fix, in whole sentences. */
  readonly fix: string;
  /** The first difference between the signed bytes and the body. Present if `explain` found how the body changed. */
  readonly body_difference?: BodyDifference | undefined;
  /**
   * The sender whose scheme fits the request. Present if the id is `other_scheme`, except for a request with the
   * service's own signature header, whose receiver needs no scheme.
   */
  readonly sender?: SenderName | undefined;
}

/** A request that was refused, and the keys to search with. */
export interface Refused {
  readonly scheme: Scheme;
  readonly arrived: Arrived;
  readonly judgment: Judgment;
  readonly secret: string;
  readonly previousSecrets: readonly string[];
  readonly quick: boolean;
}

/** Looks for a mistake. Resolves to the mistake if it explains the refusal, otherwise to undefined. */
export type Look = (refused: Refused) => Promise<SenderMistake | undefined>;
