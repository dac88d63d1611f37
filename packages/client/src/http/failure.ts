import type { ErrorFacts, SvcError } from "../errors.js";

/** Why an attempt failed. It becomes an error if no further attempt is made. */
export interface Failure {
  readonly type: new (facts: ErrorFacts) => SvcError;
  readonly facts: ErrorFacts;
  /** The service may have processed the request, and its response was lost. */
  readonly isLost?: boolean;
}
