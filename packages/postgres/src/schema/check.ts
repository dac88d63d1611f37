import type { StoreCall } from "@svc-webhooks/core";
import { contents, foreignIn, missingIn, namespace, openIn, type Contents } from "./contents.js";
import { factsOf, type Database } from "../database.js";
import { migrateText } from "../errors.js";
import type { Schema } from "./schema.js";

/** The facts that one SQL statement returns to `checkServer` as JSON. */
interface Facts {
  readonly now: number;
  readonly replica: boolean;
  readonly readOnly: string;
  readonly fsync: string;
  readonly version: string;
  readonly synchronousCommit: string;
  readonly contents: Contents;
  readonly denied: readonly string[];
}

const statement = `select pg_catalog.concat('f', pg_catalog.json_build_object(
  'now', extract(epoch from pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000,
  'replica', pg_catalog.pg_is_in_recovery(),
  'readOnly', pg_catalog.current_setting('default_transaction_read_only'),
  'fsync', pg_catalog.current_setting('fsync'),
  'version', pg_catalog.version(),
  'synchronousCommit', pg_catalog.current_setting('synchronous_commit'),
  'contents', ${contents},
  'denied', (select coalesce(pg_catalog.json_agg(what), '[]') from (
    select 'usage of the schema' as what where not pg_catalog.has_schema_privilege(${namespace}, 'usage')
    union all select pg_catalog.concat(want, ' on ', c.relname) from pg_catalog.pg_class c,
      pg_catalog.unnest(array['select', 'insert', 'update', 'delete']) want
      where c.relnamespace operator(pg_catalog.=) ${namespace}
        and (c.relname operator(pg_catalog.=) 'deliveries'
          or c.relname operator(pg_catalog.=) 'versions' and want operator(pg_catalog.=) 'select')
        and not pg_catalog.has_table_privilege(c.oid, want)
    union all select pg_catalog.concat('execute on ', p.proname) from pg_catalog.pg_proc p
      where p.pronamespace operator(pg_catalog.=) ${namespace}
        and not pg_catalog.has_function_privilege(p.oid, 'execute')
  ) rights)
)) as reply`;

const toleratedDriftMs = 1_000;

/** Resolves to one text for each condition that endangers records or transactions. */
export async function checkServer(
  database: Database<unknown>,
  { name }: Schema,
  call?: StoreCall,
): Promise<readonly string[]> {
  const problems: string[] = [...(database.problems?.() ?? [])];
  if (name === "public") {
    problems.push(
      "The store's tables are in \"public\", next to your application's tables. Choose another `schema`, and pass the same one to `migrate` and `postgresStore`.",
    );
  }
  const facts = factsOf(await database.query(statement, [name], call)) as Facts;
  const missing = missingIn(facts.contents);
  const open = openIn(facts.contents);
  const foreign = foreignIn(facts.contents, name);
  problems.push(...foreign);
  if (foreign.length === 0 && missing.length > 0) {
    problems.push(
      facts.contents.functions.length > 0
        ? `The schema "${name}" lacks ${missing.join(", ")}. It is incomplete or from another version. ${migrateText(name)}`
        : `The database does not have the schema "${name}" for this store. ${migrateText(name)}`,
    );
  }
  if (open.length > 0) {
    problems.push(
      `The schema "${name}" has version 1: ${open.join(", ")} resolve names through the caller's search_path, so a role that can create functions there can act with this role's privileges. ${migrateText(name)}`,
    );
  }
  if (facts.denied.length > 0) {
    problems.push(
      `The role lacks privileges in "${name}": ${facts.denied.join(", ")}. Grant them.`,
    );
  }
  if (facts.replica || facts.readOnly === "on") {
    problems.push(
      facts.replica
        ? "This server is a replica, which rejects writes, so no new delivery can be recorded. Connect to the primary."
        : "default_transaction_read_only is on, so no new delivery can be recorded. Set it to off for the role or the database.",
    );
  }
  // PGlite is exempt: it reports fsync as off, but its file system decides whether writes reach the disk.
  if (facts.fsync === "off" && !facts.version.includes("PGlite")) {
    problems.push("fsync is off, so a machine crash can destroy the database. Set it to on.");
  }
  if (facts.synchronousCommit === "off") {
    problems.push(
      "synchronous_commit is off, so a server crash can lose acknowledged events and their effects. Set it to on.",
    );
  }
  const driftMs = Math.abs(facts.now - Date.now());
  if (driftMs > toleratedDriftMs) {
    problems.push(
      `The server's clock differs from this machine's by ${Math.round(driftMs / 1_000)} s. Synchronize both clocks.`,
    );
  }
  return problems;
}
