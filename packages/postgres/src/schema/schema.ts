import { assertValid } from "@svc-webhooks/core/adapter";
import file from "../../schema.sql?raw";

/** The name of the schema in `schema.sql`. */
export const defaultSchema = "svc_webhooks";

/** The version that `schema.sql` creates. */
export const version = 2;

/** The name of a schema, and the SQL statements that use it. All parameters of the statements are text. */
export interface Schema {
  readonly name: string;
  readonly claim: string;
  readonly complete: string;
  readonly release: string;
  readonly extend: string;
  readonly forget: string;
  readonly finish: string;
  readonly purge: string;
  readonly peek: string;
}

/** The number of parameters of each function. */
const functions = { claim: 7, complete: 4, release: 5, extend: 3, forget: 1, finish: 2, purge: 1 };

/**
 * Maps the name of each function that this version needs to the OIDs of its parameter types: 25 is text, 1184 is
 * timestamptz.
 */
export const signatures: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(functions).map(([name, size]) => [`${name}_1`, Array(size).fill(25).join(" ")]),
  ),
  hour_1: "1184",
};

export const functionNames: readonly string[] = Object.keys(signatures);

/**
 * Returns the SQL statements that use the schema with this name.
 *
 * @throws ConfigError `invalid_option` if the name is not allowed
 */
export function schemaOf(name: string = defaultSchema): Schema {
  assertValid(
    typeof name === "string" && /^[a-z_][a-z0-9_]{0,62}$/.test(name),
    "schema",
    "`schema` must be 1 to 63 characters of a-z, 0-9 and _, and start with a letter or _.",
  );
  assertValid(
    !/^(?:pg_|information_schema$)/.test(name),
    "schema",
    "`schema` must not be information_schema or start with pg_: these names are reserved for PostgreSQL.",
  );
  const calls = Object.entries(functions).map(([called, size]) => {
    const parameters = Array.from({ length: size }, (_, index) => `$${index + 1}::pg_catalog.text`);
    return [called, `select "${name}".${called}_1(${parameters.join(", ")}) as reply`];
  });
  const named = Object.fromEntries(calls) as Omit<Schema, "name" | "peek">;
  return { name, ...named, peek: peekOf(name) };
}

/**
 * Returns the statement that reads the states of records, given their keys as a comma-separated list in `$1`. Its reply
 * has one letter per key: the state in the table; `f` (failed) for a running record whose lease has ended; `-` if there
 * is no record or it has expired. The statement calls no function of the schema, so it also works on a schema of an
 * earlier version.
 */
const peekOf = (name: string) =>
  `select coalesce(pg_catalog.string_agg(case
  when d.key is null or d.expires_at operator(pg_catalog.<=) pg_catalog.clock_timestamp() then '-'
  when d.state operator(pg_catalog.=) 'r'::pg_catalog."char" and d.lease_ends_at operator(pg_catalog.<=) pg_catalog.clock_timestamp() then 'f'
  else d.state::pg_catalog.text end, '' order by k.at), '') as reply
from pg_catalog.unnest(pg_catalog.string_to_array($1::pg_catalog.text, ',')::pg_catalog.uuid[]) with ordinality k(key, at)
left join "${name}".deliveries d on d.key operator(pg_catalog.=) k.key`;

/** Returns the individual statements of `schema.sql`, with the name of this schema. */
export const creationOf = ({ name }: Schema): readonly string[] =>
  file
    // The default name stays unquoted, so that the functions are identical to those that psql creates from the file.
    .replaceAll(/\bsvc_webhooks\b/g, name === defaultSchema ? name : `"${name}"`)
    .split(/\n\n+/)
    // Omits the file's header, which is only a comment.
    .filter((part) => /^(?!--)/m.test(part.trim()));
