import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Forgery } from "../forgery.js";
import type { ReceiverProbe } from "../probe.js";

/**
 * `must`: a receiver without it accepts forgeries or refuses genuine deliveries, against a rule of its source. `should`: the source recommends it, or leaves a choice that most receivers should make in this way.
 */
export type CaseLevel = "must" | "should";

/** The sentence of a specification on which a case rests. */
export interface CaseSource {
  /** Such as `"service interface"`, `"RFC 9110"` or `"Standard Webhooks 1.0.0"`. */
  readonly document: string;
  /** The number or the title of the section. */
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
  /** The mistake and its fix, as a sentence that is appended to the description of the failure. */
  readonly fix: string;
  readonly needsHandler?: true;
  /** Whether the responses can show that a receiver fails the case, but not that it passes. */
  readonly showsOnlyInRuns?: true;
  /** Returns whether the case does not apply to a sender other than the service. */
  readonly isSkippedFor?: (sender: Sender) => boolean;
  /** Must be rejected and not handled. */
  readonly forgeries?: readonly Forgery[];
  /** Called after the forgeries. */
  readonly run?: (probe: ReceiverProbe) => Promise<void>;
}
