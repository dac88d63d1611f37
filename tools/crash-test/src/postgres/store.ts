/*
 * The parts of our PostgreSQL store's schema by which a crash test recognizes it in a database and in statements.
 */

/**
 * An SQL condition for the tables of our store, for a query that selects from `pg_class c` and `pg_namespace n`. Names
 * alone do not suffice: the user's tables may be in the same schema, or have one of these names in another schema.
 */
export const isStoreTable: string = `(c.relname in ('deliveries', 'versions') and exists (
    select from pg_proc p where p.pronamespace = n.oid and p.proname = 'claim_1') and exists (
    select from pg_attribute own where own.attrelid = to_regclass(format('%I.deliveries', n.nspname))
      and own.attname = 'purge_hour'))`;

/** Matches the names of the functions in the store's schema. */
const storeCall = /^(claim|extend|complete|release|forget|finish|purge)_\d+$/i;

/** Returns the name of the store's call that an SQL function executes, or undefined for any other function. */
export const storeCallOf = (name: string): string | undefined =>
  storeCall.exec(name)?.[1]?.toLowerCase().replace("finish", "complete");

/** Describes a reply of `claim_1`, which has the form `c<fence> <run>`, `b<ms>`, `d…` or `p…`. Undefined for run 1. */
export function claimNote(reply: string | undefined): string | undefined {
  const [, run] = /^c\d+ (\d+)/.exec(reply ?? "") ?? [];
  if (run !== undefined) return run === "1" ? undefined : `run ${run}`;
  return { b: "in flight", d: "done", p: "parked" }[reply?.[0] ?? ""];
}
