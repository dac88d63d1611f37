import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import { hasGroups } from "../dev/group.js";

/** A session or folder that a run would leave behind if SIGKILL ended it, written as a kind and a value. */
export type Leavable = `session ${number}` | `folder ${string}`;

/** A process that cleans up when the command ends, even if SIGKILL ends the command. */
export interface Watcher {
  /** The value of `markVariable` in all processes of this run. */
  readonly mark: string;
  readonly add: (leavable: Leavable) => void;
  readonly remove: (leavable: Leavable) => void;
  /** Cleans up. Resolves when the watcher has exited. */
  readonly close: () => Promise<void>;
}

/** Starts the watcher of this run, in a group of its own that Ctrl-C does not reach. */
export async function startWatcher(): Promise<Watcher> {
  const file = createRequire(import.meta.url).resolve("#crash-test-watcher");
  const child = spawn(process.execPath, [file], {
    detached: hasGroups,
    stdio: ["pipe", "ignore", "ignore"],
  });
  await once(child, "spawn");
  const exited = once(child, "exit");
  const mark = randomBytes(8).toString("hex");
  const write = (line: string) => void child.stdin.write(`${line}\n`);
  // Ignores errors, because nothing can be written to a watcher that was killed.
  child.stdin.on("error", () => {});
  write(`+mark ${mark}`);
  return {
    mark,
    add: (leavable) => write(`+${leavable}`),
    remove: (leavable) => write(`-${leavable}`),
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
