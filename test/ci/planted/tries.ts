import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Returns whether this name has been asked for before, in this run of `run.js`. */
export function isSecondTry(name: string): boolean {
  const marker = join(process.env["SVC_WEBHOOKS_RUN_FOLDER"] ?? "", `${name}-tried`);
  if (existsSync(marker)) return true;
  writeFileSync(marker, "");
  return false;
}
