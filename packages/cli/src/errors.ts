/** Wrong usage: a missing, unknown or invalid argument, or a refused target. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "wrong_usage";
  /** A whole sentence that states the fix. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** A command that was used rightly and did not succeed. Exit code 1. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  /** A whole sentence that states the fix. */
  readonly hint: string;

  constructor(code: string, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
