import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { RunSection } from "../sections.js";
import { takeTurns } from "../turns.js";

const lane = "@svc-webhooks/core";
const peer = "@octokit/webhooks-methods";
const packages = [
  lane,
  peer,
  "@svc-webhooks/express",
  "@svc-webhooks/hono",
  "@octokit/webhooks",
  "standardwebhooks",
  "svix",
  "stripe",
  "@hookflo/tern",
];
const limit =
  "Loading Node's own crypto module takes half of the time, and Node parses every byte of the core. Minified, the core loads 1 to 8 % faster; the published files stay readable instead.";

export const run: RunSection = async (quick) => {
  const turns = packages.map((name) => [name, () => importMs(name)] as const);
  const lanes = await takeTurns(Object.fromEntries(turns), quick ? 1 : 15);
  const bars = [{ lane, against: peer, atMost: 1.2, aim: 1.1, limit }];
  return {
    title: "Start",
    races: [{ title: "import in a new process", unit: "ms", reference: peer, lanes, bars }],
  };
};

const program = `
const start = performance.now();
await import(process.argv[1]);
process.stdout.write(String(performance.now() - start));`;

// The folder of this package, from which Node resolves the packages to import.
const cwd = fileURLToPath(new URL("../..", import.meta.url));

function importMs(name: string): number {
  const args = ["--input-type=module", "--eval", program, name];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${name} cannot be imported: ${stderr}`);
  return Number(stdout);
}
