import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const demo = fileURLToPath(new URL("../dist/demo.js", import.meta.url));
const run = promisify(execFile);

test("the demo tells its story and exits with 0, without colour when it is piped", async () => {
  const { stdout, stderr } = await run(process.execPath, [demo]);
  expect(stdout).toContain("13 of 13 steps went as they should.");
  expect(stdout).toMatch(/a delivery +processed +200 +[\d.]+ ms +1/);
  expect(stdout).toMatch(/five copies at once .*4× in_flight, 1× processed/);
  expect(stdout).not.toContain("\u001b[");
  expect(stderr).toBe("");
});

// On a laptop without curl this is a named skip; in CI it fails.
const noCurl = spawnSync("curl", ["--version"]).status !== 0 && !process.env["CI"];

test.skipIf(noCurl)("with --serve it goes on listening and prints a curl that works", async () => {
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
});
