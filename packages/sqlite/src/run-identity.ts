/** The members of a handler's context that identify the run. */
export interface RunIdentity {
  readonly idempotencyKey: string;
  readonly fence?: number | undefined;
}
