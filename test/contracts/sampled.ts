import { sized } from "@svc-webhooks/kit/sized";
import type { ContractCase } from "./contract-cases.js";

/**
 * Returns the cases to run for a mistake: its own, and a sample of the others, which it must pass. Running every case
 * for every mistake takes minutes, so only `SVC_SUITE=full` does. Otherwise, one of 32 others runs. The
 * mistake's own case determines which ones.
 */
export function sampled(cases: readonly ContractCase[], own: string): readonly ContractCase[] {
  const step = sized(32, 1);
  const offset = cases.findIndex(({ title }) => title === own) % step;
  return cases.filter(({ title }, index) => title === own || index % step === offset);
}
