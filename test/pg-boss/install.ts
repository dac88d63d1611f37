import { installedWith } from "../queues/install.js";

/** The lowest version of pg-boss that the package supports. */
const pgBoss = "pg-boss@12.38.0";

/** The packages of the workspace that the example and the pages import. */
const own = ["core", "events", "express", "node", "pg-boss", "postgres"];

/** The page of pg-boss, and the packages that its example imports. */
const page = ["@pg-boss/dashboard@1.9.0", "@hono/node-server@2.1.9", "hono@4", "@types/express@5"];

const others = ["express@5.3.0", "pg@8.23.1", "@types/node@22", "@types/pg@8.23.1"];

/** Installs pg-boss and the packages that use it outside the workspace. Resolves to the folder. */
export const installed = (): Promise<string> =>
  installedWith([pgBoss, ...others, ...page], { own, node: "24" });
