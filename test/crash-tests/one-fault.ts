import { sized } from "@svc-webhooks/kit/sized";
import type { CrashTestOptions } from "@svc-webhooks/testing/crash-test";

/** One fault per history, of kinds that reveal most mistakes. `planted.slow.ts` always injects all into correct handlers. */
export const oneFault: Partial<CrashTestOptions> = {
  maxFaults: 1,
  faults: sized(["crash", "fail", "status"], undefined),
};
