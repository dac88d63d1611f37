import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ports = "SVC_WEBHOOKS_PORTS_FOLDER";
const creator = "SVC_WEBHOOKS_RUN_PROCESS";

/**
 * Creates the folders of `once-per-run.ts` and `free-port.ts`. Returns a function that removes them. The suites of
 * `test/ci/run.js` share its folder.
 */
export default function runFolder(): () => void {
  // Vitest calls this once for each of its projects, which share the folders.
  if (process.env[creator] === String(process.pid)) return () => {};
  process.env[creator] = String(process.pid);
  const shared = process.env["SVC_WEBHOOKS_SHARED_FOLDER"];
  // A run that a test starts shares the ports of the outer run, and nothing else: it may have other sources.
  delete process.env["SVC_WEBHOOKS_SHARED_FOLDER"];
  const folder = shared ?? mkdtempSync(join(tmpdir(), "svc-webhooks-run-"));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  process.env["SVC_WEBHOOKS_RUN_FOLDER"] = folder;
  const isOuter = process.env[ports] === undefined;
  if (isOuter) {
    process.env[ports] = join(folder, "ports");
    mkdirSync(join(folder, "ports"), { recursive: true });
  }
  return () => {
    if (isOuter) delete process.env[ports];
    if (shared === undefined) rmSync(folder, { recursive: true, force: true });
  };
}
