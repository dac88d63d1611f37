import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { endSession, killMarked } from "./ending.js";

/*
 * A process that outlives the command, even if SIGKILL ends the command. Its stdin ends when the command ends or closes
 * it. Then this process ends all processes that the command has left, and deletes the command's temporary folders.
 */

const left = new Set<string>();

// Ignores signals, so that the watcher outlives the command even in a container that sends SIGTERM to every process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [sign, thing] = [line.slice(0, 1), line.slice(1)];
  if (sign === "+") left.add(thing);
  else left.delete(thing);
}

const all = Array.from(left, (thing) => thing.split(/ (.*)/s));
const named = (wanted: string) =>
  all.flatMap(([kind, value = ""]) => (kind === wanted ? [value] : []));

await Promise.all(named("session").map((pid) => endSession(Number(pid))));
named("mark").forEach(killMarked);
for (const folder of named("folder")) rmSync(folder, { recursive: true, force: true });
