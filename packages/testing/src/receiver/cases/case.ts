import type { ReceiverProbe } from "../probe.js";

export interface ReceiverCase {
  readonly title: string;
  /** The trap and its fix, in a sentence that follows the description of the failure. */
  readonly fix: string;
  readonly needsHandler?: true;
  readonly run: (probe: ReceiverProbe) => Promise<void>;
}
