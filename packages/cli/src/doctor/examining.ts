import type { Bodies } from "./bodies.js";
import type { Finding } from "./findings.js";
import type { Probe, Reply, Send } from "./probe.js";

export interface ExamineOptions {
  readonly bodies: Bodies;
  /** Whether the receiver should have a handler for the type of the bodies. */
  readonly expectsHandler: boolean;
  readonly secret: string;
  readonly previousSecrets: readonly string[];
  readonly send: Send;
  /** Sends a probe to the same URL with a slash added to its path, or removed. */
  readonly sendToOtherSlash: Send;
  /** Called before each probe with its share of all expected probes, 0 … 1. */
  readonly onProbe: (probe: Probe, share: number) => void;
}

/** The state that the parts of an examination share. */
export interface Examining extends ExamineOptions {
  /** Sends a probe to which every receiver must respond. Throws {@link Enough} if there is no response. */
  readonly ask: Send;
  /** Adds to the number of expected probes. */
  readonly expectMore: (probes: number) => void;
  readonly findings: Finding[];
}

/** Ends an examination when nothing more can be learned. The message names what is not judged, and why. */
export class Enough extends Error {}

export const isError = ({ status }: Reply) => status !== null && status >= 500;

/** Returns a sentence about a reply. */
export const saw = ({ name, status, code, error }: Reply) =>
  status === null
    ? `${name}: no response (${error ?? "closed"}).`
    : `${name}: status ${status}${code === undefined ? "" : ` ${code}`}.`;
