import { existsSync, readFileSync } from "node:fs";
import { afterAll } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The processor time of a file, in seconds, with the processes that it has started and awaited. */
    processorSeconds?: number;
  }
}

/** Returns the processor time of this process and of its children that have ended. Only Linux reports the latter. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (!existsSync("/proc/self/stat")) return own;
  // The name in parentheses may contain spaces. The times of children are the fields 16 and 17, in 1/100 s.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return own + (Number(fields[13]) + Number(fields[14])) / 100;
}

const before = processorSeconds();

// oxlint-disable-next-line eslint/no-empty-pattern -- Vitest accepts no other first parameter
afterAll(({}, { file }) => {
  file.meta.processorSeconds = processorSeconds() - before;
});
