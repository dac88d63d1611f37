import type { Bodies } from "./bodies.js";
import type { Finding } from "./findings.js";
import type { Probe, Reply, Send } from "./probe.js";
import type { Signing } from "./signing.js";

export interface ExamineOptions {
  readonly bodies: Bodies;
  /** Whether the receiver is expected to have a handler for the event type of the probes. */
  readonly expectsHandler: boolean;
  readonly signing: Signing;
  readonly send: Send;
  /** Sends a probe to the same URL, with a trailing slash added to its path or removed from it. */
  readonly sendToOtherSlash: Send;
  /**
   * Called before each probe, except one that `sendToOtherSlash` sends. `share` is the probe's number divided by the
   * number of expected probes: above 0, at most 1.
   */
  readonly onProbe: (probe: Probe, share: number) => void;
}

/** The options and the state that the parts of an examination share. */
export interface Examining extends ExamineOptions {
  /**
   * Sends a probe to which every receiver must respond. Rejects with {@link Enough} if there is no response or, like
   * `send`, if the status is 429.
   */
  readonly ask: Send;
  /** Adds to the number of expected probes, or subtracts if `probes` is negative. */
  readonly expectMore: (probes: number) => void;
  readonly findings: Finding[];
}

/**
 * Thrown to end an examination when further probes would show nothing more. The message states what is not checked, and
 * why. It is empty if a finding is the reason.
 */
export class Enough extends Error {
  /** The reply that the message describes. Undefined if the message is empty. */
  readonly reply: Reply | undefined;

  constructor(message = "", reply?: Reply) {
    super(message);
    this.reply = reply;
  }
}

export const isError = ({ status }: Reply) => status !== null && status >= 500;

/** Returns a reply as text, such as `a genuine delivery: status 401 signature_mismatch.` */
export const replyText = ({ name, status, code, error }: Reply) =>
  status === null
    ? `${name}: no response (${error ?? "closed"}).`
    : `${name}: status ${status}${code === undefined ? "" : ` ${code}`}.`;
