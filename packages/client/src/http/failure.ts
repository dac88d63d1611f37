import type { ErrorFacts, ErrorKind } from "../errors.js";

/** The failure of an attempt. It becomes an error if no further attempt is made. */
export interface Failure {
  /** The kind of failure. Undefined if the service responded with an error. */
  readonly kind?: ErrorKind | undefined;
  readonly facts: ErrorFacts;
  /** Whether the service may have processed the request although its response was lost. */
  readonly isLost?: boolean;
}
