import { postgresVersion } from "@svc-webhooks/kit/postgres-server";
import { redisVersion } from "@svc-webhooks/kit/redis-server";
import runFolder from "@svc-webhooks/kit/run-folder";
import { startChild } from "../child.js";
import { installPgBoss } from "../inbox/install.js";
import type { Section } from "../race.js";
import type { RunSection } from "../sections.js";

export const run: RunSection = async (quick) => {
  if (!postgresVersion() || !redisVersion()) {
    throw new Error(
      "Install PostgreSQL and redis-server, or name the sections that do not need them.",
    );
  }
  const removeFolder = runFolder();
  const folder = process.env["SVC_WEBHOOKS_RUN_FOLDER"] ?? "";
  try {
    const { module, node } = await installPgBoss(folder);
    const args = [module, folder, quick ? "quick" : "full"];
    // All contenders run in one process, so that they run on the same version of Node.
    const child = startChild("inbox/process.js", args, { execPath: node });
    return (await child.reply()) as Section;
  } finally {
    removeFolder();
  }
};
