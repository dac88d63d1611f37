import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { npx } from "@svc-webhooks/kit/npx";
import { root } from "@svc-webhooks/kit/programs";
import { migrate, sqliteInbox } from "@svc-webhooks/sqlite";
import { DatabaseSync } from "@photostructure/sqlite";
import { bundled } from "../processes/child.js";
import type { Effect, InboxWorld } from "./chaos.js";
import { isDeadly, isPoison, type SqliteChaos, type SqliteSettings } from "./sqlite-load.js";

const upkeep = ["VACUUM", "REINDEX", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM INTO"];

/** Resolves to the path of a Node that has `node:sqlite`. */
async function nodeWithSqlite(): Promise<string> {
  const { stdout } = await npx(
    ["--yes", "--package", "node@24", "node", "-p", "process.execPath"],
    {
      cwd: root,
    },
  );
  return stdout.trim();
}

/** Creates an inbox in a file of its own. */
export async function sqliteInboxWorld({
  inOrder = true,
  inTransaction = true,
  driver = "@photostructure/sqlite",
  isKept = false,
}: SqliteChaos = {}): Promise<InboxWorld> {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-inbox-"));
  const file = join(folder, "app.db");
  const db = new DatabaseSync(file);
  const { admin } = sqliteInbox(db, { busyTimeoutMs: 60_000, partitionBy: () => "" });
  migrate(db);
  db.exec(`create table effects
    (id integer primary key, delivery text, key text, at integer);
    create table repaired (id integer)`);
  const settings: Omit<SqliteSettings, "role"> = { file, driver, inOrder, inTransaction };
  return {
    script: await bundled(fileURLToPath(new URL("sqlite-process.ts", import.meta.url))),
    settings,
    ...(driver === "node:sqlite" && { node: await nodeWithSqlite() }),
    admin,
    isBad: (index) => isDeadly(index) || isPoison(index),
    repair: () => db.exec("insert into repaired values (1)"),
    ...(isKept && {
      harm: {
        every: 10,
        strike: async (count) => {
          const statement = upkeep[count % upkeep.length] ?? "";
          db.exec(`${statement}${statement === "VACUUM INTO" ? ` '${file}.${count}'` : ""}`);
          return "upkeeps";
        },
      },
    }),
    effects: async () =>
      db
        .prepare("select delivery, key, at from effects order by id")
        .all() as readonly unknown[] as readonly Effect[],
    async close() {
      const found = db.prepare("pragma integrity_check").get();
      db.close();
      rmSync(folder, { recursive: true });
      if (JSON.stringify(found) !== '{"integrity_check":"ok"}')
        throw new Error("The file is damaged.");
    },
  };
}
