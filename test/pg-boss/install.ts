import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { oncePerRun } from "@svc-webhooks/kit/once-per-run";
import { outsideDirectory } from "@svc-webhooks/kit/programs";
import { installIn } from "../queues/install.js";

/** The lowest version of pg-boss that the package supports. */
const pgBoss = "pg-boss@12.38.0";

/** The page of pg-boss, and the packages that its example imports. */
const page = ["@pg-boss/dashboard@1.9.0", "@hono/node-server@2.1.9", "hono@4", "@types/express@5"];

/** Another queue in PostgreSQL, and the clients through which both store jobs. */
const effects = [
  "graphile-worker@0.17.3",
  "drizzle-orm@0.45.4",
  "kysely@0.28.18",
  "postgres@3.4.9",
];

const others = ["express@5.3.0", "pg@8.23.1", "zod@4", "@types/node@22", "@types/pg@8.23.1"];

/**
 * Installs pg-boss and the packages that use it outside the workspace, once per run of the tests. Resolves to a folder
 * of the caller's own, from which they are found.
 */
export async function installed(): Promise<string> {
  const shared = await oncePerRun("pg-boss", async (path) => {
    mkdirSync(path);
    await installIn(path, [pgBoss, ...others, ...page, ...effects], {
      own: ["svc-webhooks"],
      node: "24",
    });
  });
  const folder = outsideDirectory();
  symlinkSync(join(shared, "node_modules"), join(folder, "node_modules"), "junction");
  return folder;
}
