import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Forgery } from "../forgery.js";
import type { ReceiverProbe } from "../probe.js";

/**
 * `must`: a receiver that fails the case violates a rule in the case's source, because it accepts forgeries or does not
 * handle genuine deliveries. `should`: the source only recommends the behavior, or leaves a choice that most receivers
 * should make this way.
 */
export type CaseLevel = "must" | "should";

/** The sentence of a specification on which a case rests. */
export interface CaseSource {
  /** The name of the document, such as `"service interface"`, `"RFC 9110"` or `"Standard Webhooks 1.0.0"`. */
  readonly document: string;
  /** The number or the title of the section, or both. */
  readonly section: string;
  /** The sentence, or a part of it, word for word. */
  readonly quote: string;
}

export interface ReceiverCase {
  readonly title: string;
  readonly level: CaseLevel;
  readonly source: CaseSource;
  /** The level for senders other than the service. Default: `level`. */
  readonly schemeLevel?: CaseLevel;
  /** The source for senders other than the service. Default: `source`. */
  readonly schemeSource?: CaseSource;
  /** The usual mistake and its fix, in whole sentences that are appended to the description of a failure. */
  readonly fix: string;
  readonly needsHandler?: true;
  /** Whether the responses can show that a receiver fails the case, but not that it passes. */
  readonly showsOnlyInRuns?: true;
  /** Returns whether the case does not apply to a sender other than the service. */
  readonly isSkippedFor?: (sender: Sender) => boolean;
  /** Changed deliveries that must be rejected and not handled. Default: none. */
  readonly forgeries?: readonly Forgery[];
  /** Runs the other checks of the case, after `forgeries`. Default: none. */
  readonly run?: (probe: ReceiverProbe) => Promise<void>;
}
