import type { SignedRequest } from "./request.js";

/** What became of the requests that were sent. */
export interface Loaded {
  readonly answered: number;
  /** How many of the answers said no. */
  readonly refused: number;
  /** How often a connection could not be made, broke or took too long. */
  readonly broken: number;
  readonly seconds: number;
}

/** A load generator: a process of its own. */
export interface LoadTool {
  readonly name: string;
  /** Sends one request after the other over each connection for `ms`, each with an id that nobody has had before. */
  readonly load: (port: number, request: SignedRequest, ms: number) => Promise<Loaded>;
}

/**
 * Answers a second.
 *
 * @throws Error that names the contender if a single request went wrong: to refuse is quickly done
 */
export function rateOf(contender: string, { answered, refused, broken, seconds }: Loaded): number {
  if (refused + broken > 0) {
    throw new Error(`${contender}: ${refused} requests were refused, ${broken} connections broke`);
  }
  return answered / seconds;
}

/** How many are kept open. */
export const connections = 20;
