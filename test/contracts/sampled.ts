import { sized } from "@svc-webhooks/kit/sized";
import type { ContractCase } from "./contract-cases.js";

/**
 * Returns the cases that are run for a mistake: its own, and a sample of those that must not fail. Running each
 * of many mistakes in all cases takes minutes, so `npm test` runs a quarter of the others, a different one for
 * each mistake.
 */
export function sampled(cases: readonly ContractCase[], own: string): readonly ContractCase[] {
  const step = sized(4, 1);
  const offset = cases.findIndex(({ title }) => title === own) % step;
  return cases.filter(({ title }, index) => title === own || index % step === offset);
}
