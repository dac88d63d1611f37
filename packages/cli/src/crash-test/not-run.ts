import { Failure } from "../errors.js";

/** Returns the failure of a crash test that could not run. Exit code 3. */
export const notRun = (code: string, message: string, hint: string, cause?: unknown): Failure =>
  new Failure(code, message, hint, { cause, exitCode: 3 });
