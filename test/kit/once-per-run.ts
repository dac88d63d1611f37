import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createFile } from "./create-file.js";

/**
 * Returns the path of a file or folder that the first caller creates, in any process of a test run, and that
 * the others await and share. It must not be changed.
 */
export async function oncePerRun(
  name: string,
  make: (path: string) => Promise<unknown>,
): Promise<string> {
  // `run-folder.ts` sets this variable.
  const path = join(process.env["SVC_WEBHOOKS_RUN_FOLDER"] ?? "", name);
  const lock = `${path}.lock`;
  while (!existsSync(path)) {
    if (!takes(lock)) {
      await pause(20);
      continue;
    }
    try {
      // Another process may have made it between the two looks.
      if (existsSync(path)) return path;
      const own = `${path}-${crypto.randomUUID()}`;
      await make(own);
      renameSync(own, path);
    } finally {
      rmSync(lock, { force: true });
    }
  }
  return path;
}

/** Creates the lock, and returns whether it did. Removes the lock of a process that was killed. */
function takes(lock: string): boolean {
  if (createFile(lock, String(process.pid))) return true;
  if (!isAlive(lock)) rmSync(lock, { force: true });
  return false;
}

function isAlive(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    // The lock is empty for a moment. A signal of 0 only asks whether the process exists.
    return pid === 0 || process.kill(pid, 0);
  } catch {
    return false;
  }
}
