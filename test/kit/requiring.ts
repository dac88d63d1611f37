import { describe } from "vitest";

/**
 * Returns `describe` for tests that need a program. If it is missing, they are skipped by name, and in CI
 * this throws.
 */
export function describeRequiring(
  program: string,
  isInstalled: boolean,
): (name: string, body: () => void) => void {
  if (!isInstalled && process.env["CI"]) {
    throw new Error(`${program} is not installed. In CI, install it: no test may be skipped.`);
  }
  const describeOrSkip = isInstalled ? describe : describe.skip;
  const note = isInstalled ? "" : ` (SKIPPED: ${program} is not installed)`;
  return (name, body) => describeOrSkip(`${name}${note}`, body);
}
