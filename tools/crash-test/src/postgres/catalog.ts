/*
 * Parts of SQL queries on PostgreSQL's catalog, for queries that select from `pg_class c` and `pg_namespace n`.
 */

/** Matches defaults whose values differ from run to run: sequences, times, random values. */
const naturalDefault = String.raw`(nextval|\mnow\M|timestamp|current_date|current_time|localtime|timeofday|random|uuid)`;

/** An SQL expression for the columns whose values differ between runs: filled by a sequence, a time, a random value. */
export const naturalColumns: string = `array(select a.attname::text from pg_attribute a
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    and (a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) ~* '${naturalDefault}') order by a.attnum)`;

/** An SQL condition: the schema is not one of PostgreSQL's own. */
export const isOfUser: string = "(n.nspname !~ '^pg_' and n.nspname <> 'information_schema')";

/** Returns a table's name as reports write it: unquoted, and without the schema `public`. */
export const tableOf = (name: string): string =>
  name
    .replaceAll(/\s*\.\s*/g, ".")
    .replaceAll('"', "")
    .replace(/^public\./i, "");
