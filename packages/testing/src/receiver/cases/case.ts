import type { ReceiverProbe } from "../probe.js";

export interface ReceiverCase {
  readonly title: string;
  /** The trap and the way out of it, in a sentence that follows what happened. */
  readonly fix: string;
  readonly needsHandler?: true;
  readonly run: (probe: ReceiverProbe) => Promise<void>;
}
