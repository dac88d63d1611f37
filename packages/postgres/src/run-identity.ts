/** The members of a handler's context that identify the run. */
export interface RunIdentity {
  readonly idempotencyKey: string;
  readonly fence?: number | undefined;
}

/** A statement to run on your own client: `tx.query(text, values)`. */
export interface Statement {
  readonly text: string;
  readonly values: string[];
}
