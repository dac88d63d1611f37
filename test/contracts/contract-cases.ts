import type { TestRunner } from "@svc-webhooks/testing/adapter";

export interface ContractCase {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** Collects the cases that a contract registers, with a test runner that does not run them. */
export function casesOf(contract: (runner: TestRunner) => void): readonly ContractCase[] {
  const cases: ContractCase[] = [];
  contract({
    describe: (_name, body) => body(),
    it: (title, run) => cases.push({ title, run }),
  });
  return cases;
}

/** Returns a runner that registers only the cases whose titles match. */
export const selecting = ({ describe, it: register }: TestRunner, pattern: RegExp): TestRunner => ({
  describe,
  it: (title, run) => pattern.test(title) && register(title, run),
});

/** Runs the cases one after another, and returns the titles of those that fail. */
export async function failuresOf(cases: readonly ContractCase[]): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { title, run } of cases) await run().catch(() => failed.push(title));
  return failed;
}
