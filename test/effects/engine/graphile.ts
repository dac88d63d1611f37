import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { folderVariable } from "../../pg-boss/engine/boss.js";
import type { GraphileWorker } from "../../queues/graphile.js";

const folder = process.env[folderVariable] ?? "";
const { href } = pathToFileURL(join(folder, "node_modules/graphile-worker/dist/index.js"));

/** Graphile Worker, which is not installed in the workspace. */
export const { default: graphile } = (await import(href)) as { readonly default: GraphileWorker };

/** Returns a logger that logs nothing, because lost connections are expected. */
export const silent = (): object => new graphile.Logger(() => () => {});
