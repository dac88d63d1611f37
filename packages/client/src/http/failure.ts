import type { ErrorFacts, ErrorKind } from "../errors.js";

/** Why an attempt failed. It becomes an error if no further attempt is made. */
export interface Failure {
  /** Undefined if the service responded with an error. */
  readonly kind?: ErrorKind | undefined;
  readonly facts: ErrorFacts;
  /** The service may have processed the request, and its response was lost. */
  readonly isLost?: boolean;
}
