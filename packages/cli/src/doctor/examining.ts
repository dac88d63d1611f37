import type { Bodies } from "./bodies.js";
import type { Finding } from "./findings.js";
import type { Probe, Reply, Send } from "./probe.js";
import type { Signing } from "./signing.js";

export interface ExamineOptions {
  readonly bodies: Bodies;
  /** Whether the receiver is expected to have a handler for the event type in the bodies. */
  readonly expectsHandler: boolean;
  readonly signing: Signing;
  readonly send: Send;
  /** Sends a probe to the same URL, with a trailing slash added to its path or removed from it. */
  readonly sendToOtherSlash: Send;
  /** Called before each probe. `share` is the progress among all expected probes, 0 … 1. */
  readonly onProbe: (probe: Probe, share: number) => void;
}

/** The state shared by the parts of an examination. */
export interface Examining extends ExamineOptions {
  /** Sends a probe to which every receiver must respond. Rejects with {@link Enough} if there is no response. */
  readonly ask: Send;
  /** Adds to the number of expected probes. */
  readonly expectMore: (probes: number) => void;
  readonly findings: Finding[];
}

/**
 * Ends an examination in which further probes would show nothing more. The message names what is not judged, and why;
 * it may be empty.
 */
export class Enough extends Error {
  /** The reply that the message describes. */
  readonly reply: Reply | undefined;

  constructor(message = "", reply?: Reply) {
    super(message);
    this.reply = reply;
  }
}

export const isError = ({ status }: Reply) => status !== null && status >= 500;

/** Describes a reply in one sentence. */
export const saw = ({ name, status, code, error }: Reply) =>
  status === null
    ? `${name}: no response (${error ?? "closed"}).`
    : `${name}: status ${status}${code === undefined ? "" : ` ${code}`}.`;
