import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Lane } from "../race.js";

const child = `
const start = performance.now();
await import(process.argv[1]);
process.stdout.write(String(performance.now() - start));`;

// From where packages are found.
const cwd = fileURLToPath(new URL("../..", import.meta.url));

/** Milliseconds until a module has been imported by a process that has imported nothing before. */
function importMs(module: string): number {
  const args = ["--input-type=module", "--eval", child, module];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${module} cannot be imported: ${stderr}`);
  return Number(stdout);
}

/** Imports modules by turns, in changing order, each time in a process of its own. */
export function importByTurns(modules: Readonly<Record<string, string>>, rounds: number): Lane[] {
  const lanes = Object.entries(modules).map(([name, module]) => ({
    name,
    module,
    values: [] as number[],
  }));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? lanes : lanes.toReversed();
    for (const { module, values } of order) values.push(importMs(module));
  }
  return lanes.map(({ name, values }) => ({ name, values }));
}
