import { CrashTestError } from "@svc-webhooks/crash-test";

/** Asserts that an option is valid. @throws CrashTestError `invalid_option` */
export function assertValid(ok: boolean, text: string): void {
  if (!ok) throw new CrashTestError("invalid_option", text);
}
