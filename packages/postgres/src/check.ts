import type { StoreCall } from "@svc-webhooks/core";
import { replyOf, type Database } from "./database.js";
import { migrateText } from "./errors.js";
import { functionNames, type Schema } from "./schema.js";

/** What one statement reads, as JSON. */
interface Facts {
  readonly now: number;
  readonly replica: boolean;
  readonly readOnly: string;
  readonly fsync: string;
  readonly version: string;
  readonly synchronousCommit: string;
  readonly functions: readonly string[];
  readonly tables: number;
  readonly denied: readonly string[];
}

const facts = `select json_build_object(
  'now', extract(epoch from clock_timestamp()) * 1000,
  'replica', pg_is_in_recovery(),
  'readOnly', current_setting('default_transaction_read_only'),
  'fsync', current_setting('fsync'),
  'version', version(),
  'synchronousCommit', current_setting('synchronous_commit'),
  'functions', (select coalesce(json_agg(p.proname), '[]') from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = $1),
  'tables', (select count(*) from pg_tables where schemaname = $1 and tablename = 'deliveries'),
  'denied', (select coalesce(json_agg(right_), '[]') from (
    select 'usage of the schema' as right_ from pg_namespace n
      where n.nspname = $1 and not has_schema_privilege(n.oid, 'usage')
    union all select want || ' on deliveries' from pg_class c join pg_namespace n on n.oid = c.relnamespace,
      unnest(array['select', 'insert', 'update', 'delete']) want
      where n.nspname = $1 and c.relname = 'deliveries' and not has_table_privilege(c.oid, want)
    union all select 'select on versions' from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = 'versions' and not has_table_privilege(c.oid, 'select')
    union all select 'execute on ' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = $1 and not has_function_privilege(p.oid, 'execute')
  ) rights)
)::text as reply`;

const toleratedDriftMs = 1_000;

/** Lists what endangers records or transactions, one sentence each. */
export async function checkServer(
  database: Database<unknown>,
  { name }: Schema,
  call?: StoreCall,
): Promise<readonly string[]> {
  const problems: string[] = [...(database.problems?.() ?? [])];
  const found = JSON.parse(replyOf(await database.query(facts, [name], call))) as Facts;
  const missing = functionNames.filter((one) => !found.functions.includes(one));
  if (found.tables === 0) missing.push("table deliveries");
  if (missing.length > 0) {
    problems.push(
      found.functions.length > 0
        ? `The schema "${name}" has no ${missing.join(", ")}: it is of another version. ${migrateText(name)}`
        : `The database has no schema "${name}" of this store. ${migrateText(name)}`,
    );
  }
  if (found.denied.length > 0) {
    problems.push(`The role lacks ${found.denied.join(", ")} in "${name}". Grant it.`);
  }
  if (found.replica || found.readOnly === "on") {
    problems.push(
      "This server rejects writes (a replica, or default_transaction_read_only), so every new delivery gets 503. Connect to the primary.",
    );
  }
  // PGlite reports it as off, and writes files as its environment does.
  if (found.fsync === "off" && !found.version.includes("PGlite")) {
    problems.push(
      "fsync is off, so a crash of the machine can destroy the database. Set it to on.",
    );
  }
  if (found.synchronousCommit === "off") {
    problems.push(
      "synchronous_commit is off, so a crash of the server can forget acknowledged events with their effects. Set it to on.",
    );
  }
  const driftMs = Math.abs(found.now - Date.now());
  if (driftMs > toleratedDriftMs) {
    problems.push(
      `The server's clock differs from this machine's by ${Math.round(driftMs / 1_000)} s. Synchronise both.`,
    );
  }
  return problems;
}
