import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../src/http/server-process.js";
import type { Section } from "../src/race.js";

// Processes run what was built.
function start(file: string, ...args: readonly string[]) {
  const child = fork(fileURLToPath(new URL(`../dist/${file}`, import.meta.url)), args);
  onTestFinished(() => void child.kill());
  return child;
}

test("a contender's server ends with its parent", async () => {
  const child = start("http/server.js", "node", "by hand");
  const [port] = await once(child, "message");
  expect((await fetch(`http://127.0.0.1:${port}/webhooks`)).status).toBe(405);
  const exit = once(child, "exit");
  child.disconnect();
  expect(await exit).toEqual([0, null]);
});

test("a server that ends is told by its contender's name, with what it printed", async () => {
  // There is nothing to run beside the source.
  await expect(startServer("node", "by hand")).rejects.toThrow(
    /^the server of by hand ended with 1\n[^]*Cannot find module/,
  );
});

test("a quick look has one value of every contender", { timeout: 120_000 }, async () => {
  const [section] = (await once(start("run-section.js", "http", "quick"), "message")) as [Section];
  const lanes = section.races.flatMap((race) => race.lanes);
  expect(section.races.map(({ title }) => title)).toEqual([
    "node:http",
    "Express 5",
    "Hono on Node",
  ]);
  expect(lanes).toHaveLength(11);
  for (const { values } of lanes) expect(values).toEqual([expect.any(Number)]);
  expect(Math.min(...lanes.flatMap(({ values }) => values))).toBeGreaterThan(0);
  expect(section.about).toContain("@octokit/webhooks knows no duplicates");
});
