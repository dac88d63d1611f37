import type { Sender } from "../../schemes/sender.js";
import type { ReceiverProbe } from "../probe.js";

export interface ReceiverCase {
  readonly title: string;
  /** The mistake and its fix, as a sentence that is appended to the description of the failure. */
  readonly fix: string;
  readonly needsHandler?: true;
  /** Returns whether the case does not apply to a sender other than the service. */
  readonly isSkippedFor?: (sender: Sender) => boolean;
  readonly run: (probe: ReceiverProbe) => Promise<void>;
}
