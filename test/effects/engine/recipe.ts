import type { Receiver } from "@svc-webhooks/core";
import type { Pool } from "pg";
import { textOf } from "../../package/readme.js";
import { folderVariable } from "../../pg-boss/engine/boss.js";
import { importBlock } from "../../queues/blocks.js";
import type { Boss, Db } from "./boss.js";

const page = "docs/recipes.md";
const folder = process.env[folderVariable] ?? "";

/** The receiver of the page, which stores jobs of pg-boss through `pg`. */
export const { chargingLater } = await importBlock<{
  readonly chargingLater: (pool: Pool, boss: Boss) => Receiver;
}>(folder, page, "export const chargingLater");

/** The values of `db` that the page shows for other clients. */
export const { overPostgresJs, overDrizzle, overKysely } = await importBlock<
  Readonly<Record<"overPostgresJs" | "overDrizzle" | "overKysely", (tx: unknown) => Db>>
>(folder, page, "export const overDrizzle");

/** The statement of the page that stores a job of Graphile Worker. */
export const addJob: string =
  /^```sql\n(?<statement>SELECT graphile_worker\.add_job[^]*?)\n```$/m.exec(textOf(page))?.groups?.[
    "statement"
  ] ?? "";
