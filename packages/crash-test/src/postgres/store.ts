/*
 * The facts of the schema of our PostgreSQL store, which a crash test recognizes in a database and in statements.
 */

/**
 * A condition of PostgreSQL for the tables of our store, given `pg_class c` and `pg_namespace n`. The user's tables may
 * be in the same schema, and may even have one of these names in another one.
 */
export const isStoreTable: string = `(c.relname in ('deliveries', 'versions') and exists (
    select from pg_proc p where p.pronamespace = n.oid and p.proname = 'claim_1') and exists (
    select from pg_attribute own where own.attrelid = to_regclass(format('%I.deliveries', n.nspname))
      and own.attname = 'purge_hour'))`;

/** The functions of the store's schema, which the library calls by these names. */
const storeCall = /^(claim|extend|complete|release|forget|finish|purge)_\d+$/i;

/** Returns the store's call that a function executes, or undefined for another function. */
export const storeCallOf = (name: string): string | undefined =>
  storeCall.exec(name)?.[1]?.toLowerCase().replace("finish", "complete");

/** Reads the reply of the function `claim_1`: `c<fence> <run>`, `b<ms>`, `d…`, `p…`. */
export function claimNote(reply: string | undefined): string | undefined {
  const [, run] = /^c\d+ (\d+)/.exec(reply ?? "") ?? [];
  if (run !== undefined) return run === "1" ? undefined : `run ${run}`;
  return { b: "in flight", d: "done", p: "parked" }[reply?.[0] ?? ""];
}
