import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the path of a file or folder that the first caller creates, in any process of a test run, and that
 * the others share. It must not be changed.
 */
export async function oncePerRun(
  name: string,
  make: (path: string) => Promise<unknown>,
): Promise<string> {
  // `run-folder.ts` sets this variable.
  const path = join(process.env["SVC_WEBHOOKS_RUN_FOLDER"] ?? "", name);
  if (existsSync(path)) return path;
  const own = `${path}-${crypto.randomUUID()}`;
  await make(own);
  try {
    renameSync(own, path);
  } catch {
    // Another process was first.
    rmSync(own, { recursive: true });
  }
  return path;
}
