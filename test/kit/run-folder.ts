import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates the folder of `once-per-run.ts`, unless several suites share one. Returns a function that removes it. */
export default function runFolder(): () => void {
  if (process.env["SVC_WEBHOOKS_RUN_FOLDER"]) return () => {};
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-run-"));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  process.env["SVC_WEBHOOKS_RUN_FOLDER"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
