import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { npm } from "@svc-webhooks/kit/npm";
import { root } from "@svc-webhooks/kit/programs";
import { testRequiring } from "@svc-webhooks/kit/requiring";

const demo = fileURLToPath(new URL("../dist/demo.js", import.meta.url));
const run = promisify(execFile);

/** The lines of the takeover, in their order. */
const takeover = [
  /sent to A +handler starts, run 1$/m,
  /copy to B +503 in_flight, Retry-After: 5\n +503, so the sender comes back if A dies/m,
  /A is killed +no response$/m,
  /retry to B +503 in_flight, Retry-After: \d$/m,
  /retry to B +200 processed\n.*B takes over \(run 2, higher fence\)$/m,
  /retry to B +200 duplicate$/m,
  /^ {2}without a transaction +2 .*\n {2}in store\.transaction +1 +A's row was rolled back$/m,
  /^Nothing was lost: B finished what A had started\.$/m,
];

/** Checks that each line is found after the previous one. */
function expectInOrder(text: string, lines: readonly RegExp[]): void {
  let rest = text;
  for (const line of lines) {
    expect(rest).toMatch(line);
    rest = rest.slice((line.exec(rest)?.index ?? 0) + 1);
  }
}

describe("npm run demo -- receiver", () => {
  const output = npm(["run", "demo", "--", "receiver"], { cwd: root });

  test("passes every step and exits with 0, without colors in a pipe", async () => {
    const { stdout } = await output;
    expect(stdout).toContain("13 of 13 steps ended as expected.");
    expect(stdout).toMatch(/a new delivery +processed +200 +[\d.]+ ms +1/);
    expect(stdout).toMatch(/five concurrent copies +processed, 4× in_flight +200, 4× 503/);
    expect(stdout).not.toContain("\u001b[");
  });

  test("kills a process in the middle of a handler, and another one takes over", async () => {
    const { stdout } = await output;
    expect(stdout).toContain("Processes A and B share a database");
    expectInOrder(stdout, takeover);
  });

  test("prints nothing of the build, and fits on a screen", async () => {
    const lines = (await output).stdout.trim().split("\n");
    expect(lines.slice(0, 2)).toEqual(["> demo", expect.stringMatching(/^> node /)]);
    expect(lines.slice(2).find((line) => line !== "")).toMatch(/^An Express app /);
    expect(lines.length).toBeLessThanOrEqual(50);
    expect(lines.slice(2).filter((line) => line.length > 80)).toEqual([]);
  });
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

testRequiring("curl", hasCurl)(
  "with --serve the demo keeps listening and prints a curl command that works",
  async () => {
    const child = spawn(process.execPath, [demo, "--serve"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      let curl = "";
      for await (const line of createInterface(child.stdout)) {
        if (line.startsWith("curl ") || curl !== "") curl += `${line}\n`;
        if (line.startsWith("  -d")) break;
      }
      const args = curl.replaceAll("\\\n", " ").trim();
      const first = await run("bash", ["-c", args.replace("curl -i", "curl -s")]);
      expect(first.stdout).toBe('{"status":"processed"}');
      const second = await run("bash", ["-c", args.replace("curl -i", "curl -s")]);
      expect(second.stdout).toBe('{"status":"duplicate"}');
    } finally {
      child.kill();
      await once(child, "exit");
    }
  },
);
