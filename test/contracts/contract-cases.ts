import type { TestRunner } from "@svc-webhooks/testing/adapter";

export interface ContractCase {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** Returns the cases of a contract, which only a test runner receives. */
export function casesOf(contract: (runner: TestRunner) => void): readonly ContractCase[] {
  const cases: ContractCase[] = [];
  contract({
    describe: (_name, body) => body(),
    it: (title, run) => cases.push({ title, run }),
  });
  return cases;
}

/** Returns the titles of the cases that fail. */
export async function failuresOf(cases: readonly ContractCase[]): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { title, run } of cases) await run().catch(() => failed.push(title));
  return failed;
}
