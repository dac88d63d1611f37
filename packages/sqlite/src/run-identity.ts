/** The members of a handler's context that identify its run. */
export interface RunIdentity {
  readonly idempotencyKey: string;
  readonly fence?: number | undefined;
}
