/** The two functions that a contract needs from a test runner. Vitest, Jest, `node:test` and Mocha provide them. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}
