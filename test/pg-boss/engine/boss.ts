import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PgBossLike } from "@svc-webhooks/pg-boss";

/** The variable with the folder in which `pg-boss` is installed. */
export const folderVariable = "ENGINE_FOLDER";

/** A `PgBoss`, with the functions that only tests call. */
export interface TestBoss extends PgBossLike {
  start(options?: { attempts: number }): Promise<unknown>;
  stop(options: { graceful?: boolean; timeout?: number }): Promise<void>;
  on(event: "error" | "warning", listener: (error: { message: string }) => void): void;
  supervise(queue: string): Promise<unknown>;
  fetch(queue: string): Promise<{ id: string; data: object }[]>;
  complete(queue: string, id: string): Promise<unknown>;
}

const folder = process.env[folderVariable] ?? "";
// The package is not installed in the workspace, because it needs a newer Node.
const { PgBoss } = (await import(
  pathToFileURL(join(folder, "node_modules/pg-boss/dist/index.js")).href
)) as { readonly PgBoss: new (options: object) => TestBoss };

/** The intervals that end quickly what a killed worker leaves. */
const quick = {
  superviseIntervalSeconds: 1,
  monitorIntervalSeconds: 1,
  maintenanceIntervalSeconds: 1,
  instanceHeartbeatSeconds: 1,
};

/** Returns a `PgBoss` that ignores lost connections. */
export function bossOf(connectionString: string, options: object = {}): TestBoss {
  const boss = new PgBoss({
    connectionString,
    connectionTimeoutMillis: 1_000,
    schedule: false,
    ...quick,
    ...options,
  });
  boss.on("error", () => {});
  return boss;
}
