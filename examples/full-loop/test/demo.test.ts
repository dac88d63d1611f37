import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";

const run = promisify(execFile);

describe("npm run demo", () => {
  const output = run("npm", ["run", "-s", "demo"], { cwd: root });

  test.each([
    ["a failed handler is retried", /500 handler_failed\n(.*\n){1,3}.*attempt 2 .* 200 processed/],
    ["a concurrent copy waits", /503 in_flight/],
    [
      "a delivery that failed is redelivered",
      /attempt 5 .* 500 handler_failed\n(.*\n)+.*:redeliver +202\n(.*\n)+.*attempt 6 .* 200 processed/,
    ],
    ["a rotation loses nothing", /40 events handled, [1-9]\d* attempts refused on the way, 0 lost/],
    ["a forged signature is refused", /401 signature_mismatch/],
    ["a copy is recognised", /200 duplicate/],
    ["each event is handled once", /^23 emails, 46 events: 46 handled exactly once\.$/m],
  ])("%s", async (_fact, line) => {
    expect((await output).stdout).toMatch(line);
  });

  test("prints a timeline that fits on a screen, and no warning", async () => {
    const { stdout, stderr } = await output;
    expect(stderr).toMatch(/^(svc-webhooks sandbox: .*\n)*$/);
    expect(stdout.split("\n").filter((line) => line.length > 90)).toEqual([]);
  });
});
