import { functionNames, signatures } from "./schema.js";

/** The objects in a schema that have the name of one of the store's objects. */
export interface Contents {
  readonly functions: readonly (Found & {
    /** The OIDs of the function's parameter types. */
    readonly types: string;
    /** Whether the function sets `search_path` to `pg_catalog, pg_temp`. Functions of version 1 do not. */
    readonly isPinned: boolean;
  })[];
  /** The tables and indexes. */
  readonly relations: readonly (Found & { readonly columns: readonly string[] })[];
}

interface Found {
  readonly name: string;
  /** The name to show in messages. For a function, it includes the types of the parameters. */
  readonly shown: string;
  /** The object's owner, or null if the owner also owns the schema, is a superuser or is the current role. */
  readonly stranger: string | null;
}

/** The columns that the store needs, by table. Other columns are allowed, because later versions may add some. */
const tables: Readonly<Record<string, readonly string[]>> = {
  versions: ["version", "applied_at"],
  deliveries: [
    "fence",
    "lease_ends_at",
    "expires_at",
    "key",
    "lineage",
    "run",
    "purge_hour",
    "state",
    "token",
  ],
};

const indexes = ["deliveries_pkey", "deliveries_purge_hour"];

/** An SQL expression for the OID of the schema whose name is `$1`. It is null if there is no such schema. */
export const namespace: string =
  "(select pg_catalog.to_regnamespace(pg_catalog.quote_ident($1::pg_catalog.text))::pg_catalog.oid)";

/**
 * Returns an SQL expression for a JSON list of the objects in the schema `$1` that have one of these names. The first
 * parameter contains the catalog, the prefix of its columns, and the type whose text form is the name to show.
 */
const objectsIn = (
  [catalog, prefix, shown]: readonly string[],
  names: readonly string[],
  members: string,
) => `(select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', c.${prefix}name,
    'shown', c.oid::pg_catalog.${shown}, 'stranger', (select r.rolname from pg_catalog.pg_roles r, pg_catalog.pg_namespace n
      where r.oid operator(pg_catalog.=) c.${prefix}owner and n.oid operator(pg_catalog.=) ${namespace} and not r.rolsuper
        and r.oid operator(pg_catalog.<>) n.nspowner and r.rolname operator(pg_catalog.<>) current_user),
    ${members})), '[]')
  from pg_catalog.${catalog} c where c.${prefix}namespace operator(pg_catalog.=) ${namespace}
    and c.${prefix}name operator(pg_catalog.=) any (array['${names.join("','")}']::pg_catalog.name[]))`;

const functionsFound = objectsIn(
  ["pg_proc", "pro", "regprocedure"],
  functionNames,
  `'types', c.proargtypes::pg_catalog.text,
    'isPinned', coalesce('search_path=pg_catalog, pg_temp' operator(pg_catalog.=) any (c.proconfig), false)`,
);

const relationsFound = objectsIn(
  ["pg_class", "rel", "regclass"],
  [...Object.keys(tables), ...indexes],
  `'columns', (select coalesce(pg_catalog.json_agg(a.attname), '[]') from pg_catalog.pg_attribute a
      where a.attrelid operator(pg_catalog.=) c.oid)`,
);

/**
 * An SQL expression for the `Contents` of the schema `$1` as JSON. Every role may read the catalogs that the expression
 * uses.
 */
export const contents: string = `pg_catalog.json_build_object('functions', ${functionsFound}, 'relations', ${relationsFound})`;

const functionIn = ({ functions }: Contents, name: string) =>
  functions.find((object) => object.name === name && object.types === signatures[name]);

export const relationIn = ({ relations }: Contents, name: string): Found | undefined =>
  relations.find((relation) => relation.name === name);

/** Returns the names of the objects that this version needs but the schema lacks. */
export const missingIn = (all: Contents): readonly string[] => [
  ...functionNames.filter((name) => !functionIn(all, name)),
  ...Object.keys(tables)
    .filter((name) => !relationIn(all, name))
    .map((name) => `table ${name}`),
  ...indexes.filter((name) => !relationIn(all, name)).map((name) => `index ${name}`),
];

/** Returns the names of the functions that resolve names through the caller's `search_path`. */
export const openIn = (all: Contents): readonly string[] =>
  functionNames.filter((name) => functionIn(all, name)?.isPinned === false);

/**
 * Returns messages for the operator about tables and functions that have the store's names but may not be the store's:
 * tables that lack a column, functions with other parameters, and tables and functions whose owner is a `stranger`.
 */
export function foreignIn({ functions, relations }: Contents, schema: string): readonly string[] {
  const problems: string[] = [];
  const ofTables = relations.filter(({ name }) => name in tables);
  for (const { name, columns } of ofTables) {
    const lacking = tables[name]?.filter((column) => !columns.includes(column)) ?? [];
    if (lacking.length > 0) {
      problems.push(
        `The table "${name}" in the schema "${schema}" does not belong to this store: it has no column ${lacking.join(", ")}. Choose another \`schema\`, and pass the same one to \`migrate\` and \`postgresStore\`.`,
      );
    }
  }
  const strangers = [...functions, ...ofTables].flatMap(({ shown, stranger }) =>
    stranger === null ? [] : `${shown} of ${stranger}`,
  );
  if (strangers.length > 0) {
    problems.push(
      `The schema "${schema}" contains ${strangers.join(", ")}. Their owner does not own the schema, but can change what the store runs. If you trust this role, give them to the owner of the schema. Otherwise, drop them and run \`migrate\` again.`,
    );
  }
  const overloads = functions.filter(({ name, types }) => types !== signatures[name]);
  if (overloads.length > 0) {
    problems.push(
      `The schema "${schema}" contains overloads of the store's functions: ${overloads.map(({ shown }) => shown).join(", ")}. They can make calls ambiguous. Drop them.`,
    );
  }
  return problems;
}
