/** Wrong usage, such as an invalid argument, a file that cannot be read, or a forbidden target. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "wrong_usage";
  /** The fix, as one or more whole sentences. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** The failure of a command that was used correctly. Exit code 1, or 3 for a test that could not run. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  /** The fix, as one or more whole sentences. Empty if there is no known fix. */
  readonly hint: string;
  readonly exitCode: 1 | 3;

  constructor(
    code: string,
    message: string,
    hint: string,
    { exitCode = 1, ...options }: ErrorOptions & { readonly exitCode?: 1 | 3 } = {},
  ) {
    super(message, options);
    this.code = code;
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

/** Returns whether an error or one of its causes is a refused connection, which `fetch` reports as the `cause`. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error &&
  ((error as NodeJS.ErrnoException).code === "ECONNREFUSED" || isRefusal(error.cause));

/**
 * Returns an error's message. If that is missing or empty, returns the error's code, or the error as a string. Node's
 * message is empty if several addresses of a host refuse a connection.
 */
export function messageOf(error: unknown): string {
  const { message, code } = Object(error) as {
    readonly message?: unknown;
    readonly code?: unknown;
  };
  const text = [message, code].find((detail) => typeof detail === "string" && detail !== "");
  return typeof text === "string" ? text : String(error);
}
