import { sized } from "@svc-webhooks/kit/sized";
import type { ContractCase } from "./contract-cases.js";

/**
 * Returns the cases to run for a mistake: its own, and a sample of the others, which it must pass. Running every case
 * for every mistake takes minutes, so `npm test` runs a quarter of the others. The mistake's own case determines which
 * quarter.
 */
export function sampled(cases: readonly ContractCase[], own: string): readonly ContractCase[] {
  const step = sized(4, 1);
  const offset = cases.findIndex(({ title }) => title === own) % step;
  return cases.filter(({ title }, index) => title === own || index % step === offset);
}
