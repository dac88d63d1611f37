import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const demo = fileURLToPath(new URL("../dist/demo.js", import.meta.url));
const run = promisify(execFile);

test("the demo passes every step and exits with 0, without colours in a pipe", async () => {
  const { stdout, stderr } = await run(process.execPath, [demo]);
  expect(stdout).toContain("13 of 13 steps ended as expected.");
  expect(stdout).toMatch(/a new delivery +processed +200 +[\d.]+ ms +1/);
  expect(stdout).toMatch(/five concurrent copies +processed, 4× in_flight +200, 4× 503/);
  expect(stdout).not.toContain("\u001b[");
  expect(stderr).toBe("");
});

// Without curl, this test is skipped on a laptop and fails in CI.
const noCurl = spawnSync("curl", ["--version"]).status !== 0 && !process.env["CI"];

test.skipIf(noCurl)(
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
