import { CrashTestError } from "@svc-webhooks/crash-test";

/** Returns the text of a thrown value, whatever its type, for a line of a report. */
export function messageOf(error: unknown): string {
  try {
    const { message } = Object(error) as { readonly message?: unknown };
    return oneLine(typeof message === "string" ? message : String(error));
  } catch {
    return "a value without a text";
  }
}

/** Returns the message for an error thrown by the function that was passed as `option`. */
export const threwText = (option: string, cause: unknown): string =>
  `\`${option}\` threw an error: ${messageOf(cause)}`;

/** Returns the error that ends a crash test after the function in an option has thrown `cause`. */
export const thrownBy = (option: string, cause: unknown): Error =>
  cause instanceof CrashTestError
    ? cause
    : new CrashTestError("invalid_option", threwText(option, cause), { cause });

/** Settles like `running`, a call of an option's function, but replaces its error with that of `thrownBy`. */
export const naming = <Result>(option: string, running: Promise<Result>): Promise<Result> =>
  running.catch((error: unknown) => {
    throw thrownBy(option, error);
  });

/** Escapes the control and direction characters of a text, so that it cannot change other text of a report. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    JSON.stringify(character).length > 3
      ? JSON.stringify(character).slice(1, -1)
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
