import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/**
 * The path of a file or folder that the first caller makes, in any process of a run of the tests, and that the
 * others share. Nobody may change it.
 */
export async function oncePerRun(
  name: string,
  make: (path: string) => Promise<unknown>,
): Promise<string> {
  // `run-folder.ts` sets it.
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
