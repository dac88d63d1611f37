import { Failure } from "../errors.js";

/** Returns a failure with the exit code 3, for a crash test that could not run. */
export const notRun = (code: string, message: string, hint: string, cause?: unknown): Failure =>
  new Failure(code, message, hint, { cause, exitCode: 3 });
