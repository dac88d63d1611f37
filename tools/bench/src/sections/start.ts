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

const facade = "svc-webhooks";

export const run: RunSection = async (quick) => {
  const turns = packages.map((name) => [name, () => importCost(name).ms] as const);
  const lanes = await takeTurns(Object.fromEntries(turns), quick ? 1 : 15);
  const bars = [{ lane, against: peer, atMost: 1.2, aim: 1.1, limit }];
  const cpuTurns = [lane, facade].map((name) => [name, () => importCost(name).cpuMs] as const);
  const cpuLanes = await takeTurns(Object.fromEntries(cpuTurns), quick ? 1 : 7);
  const cpuBars = [{ lane: facade, against: lane, atMost: 1.2, aim: 1.1 }];
  return {
    title: "Start",
    races: [
      { title: "import in a new process", unit: "ms", reference: peer, lanes, bars },
      {
        title: "CPU time of the import",
        unit: "ms",
        reference: lane,
        lanes: cpuLanes,
        bars: cpuBars,
      },
    ],
  };
};

const program = `
const before = process.cpuUsage();
const start = performance.now();
await import(process.argv[1]);
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(before);
process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1_000 }));`;

// The folder of this package, from which Node resolves the packages to import.
const cwd = fileURLToPath(new URL("../..", import.meta.url));

interface ImportCost {
  /** The time of the import, in milliseconds. */
  readonly ms: number;
  /** The CPU time of all threads during the import, in milliseconds. */
  readonly cpuMs: number;
}

function importCost(name: string): ImportCost {
  const args = ["--input-type=module", "--eval", program, name];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${name} cannot be imported: ${stderr}`);
  return JSON.parse(stdout) as ImportCost;
}
