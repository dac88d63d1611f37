import { codeOf } from "@svc-webhooks/core/adapter";
import { PreconditionError } from "../precondition-error.js";

/**
 * Returns the error with which a case fails. `fix` is appended if the receiver behaved wrongly, and `start` if it
 * cannot be reached. A {@link PreconditionError} and an error of this project's packages are returned unchanged.
 */
export function failureOf(error: unknown, fix: string, url: string, start: string): unknown {
  if (error instanceof PreconditionError || codeOf(error) !== undefined) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return new Error(`${message} ${fix}`, { cause: error });
  if (code === "ECONNRESET" || code === "EPIPE") {
    const text = "The receiver closed the connection without a response.";
    return new Error(`${text} ${fix}`, { cause: error });
  }
  if (code.startsWith("HPE_")) {
    const text = "The response is not valid HTTP, or its headers are larger than 16 KiB.";
    return new Error(`${text} ${fix}`, { cause: error });
  }
  // Names only the origin, because the URL may contain a password.
  const { origin } = new URL(url);
  const problem =
    code === "ECONNREFUSED"
      ? `Nothing is listening at ${origin}.`
      : `${origin} cannot be reached: ${message || code}.`;
  return new PreconditionError(`${problem} ${start}`, { cause: error });
}
