/** Wrong usage: a missing, unknown or invalid argument, or a refused target. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "wrong_usage";
  /** The fix, as a whole sentence. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** A command that was used correctly and did not succeed. Exit code 1. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  /** The fix, as a whole sentence. */
  readonly hint: string;

  constructor(code: string, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

/** Returns whether the address has refused the connection. `fetch` reports the reason as a cause. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error &&
  ((error as NodeJS.ErrnoException).code === "ECONNREFUSED" || isRefusal(error.cause));

/**
 * Returns the message of an error. If several addresses refused a connection, its error has a code and no
 * message.
 */
export function messageOf(error: unknown): string {
  const { message, code } = Object(error) as {
    readonly message?: unknown;
    readonly code?: unknown;
  };
  const text = [message, code].find((one) => typeof one === "string" && one !== "");
  return typeof text === "string" ? text : String(error);
}
