import type { ReceiverProbe } from "../probe.js";

export interface ReceiverCase {
  readonly title: string;
  /** The mistake and its fix, as a sentence that is appended to the description of the failure. */
  readonly fix: string;
  readonly needsHandler?: true;
  readonly run: (probe: ReceiverProbe) => Promise<void>;
}
