import { ReceiverConfigError } from "@svc-webhooks/core";
import file from "../schema.sql?raw";

/** The schema's name in the file. */
export const defaultSchema = "svc_webhooks";

/** The version that `schema.sql` creates. */
export const version = 1;

/** A schema's statements. All values are texts. */
export interface Schema {
  readonly name: string;
  readonly claim: string;
  readonly complete: string;
  readonly release: string;
  readonly extend: string;
  readonly forget: string;
  readonly finish: string;
  readonly purge: string;
}

/** How many parameters each function has. */
const functions = { claim: 7, complete: 4, release: 5, extend: 3, forget: 1, finish: 2, purge: 1 };

/** The names of the functions that this version needs. */
export const functionNames: readonly string[] = [...Object.keys(functions), "hour"].map(
  (name) => `${name}_1`,
);

/** @throws ReceiverConfigError `invalid_option` */
export function schemaOf(name: string = defaultSchema): Schema {
  if (typeof name !== "string" || !/^[a-z_][a-z0-9_]{0,62}$/.test(name)) {
    throw new ReceiverConfigError(
      "invalid_option",
      "schema",
      "`schema` must be 1 to 63 characters of a-z, 0-9 and _, and start with a letter or _.",
    );
  }
  const calls = Object.entries(functions).map(([called, size]) => {
    const parameters = Array.from({ length: size }, (_, index) => `$${index + 1}::text`);
    return [called, `select "${name}".${called}_1(${parameters.join(", ")}) as reply`];
  });
  return { name, ...(Object.fromEntries(calls) as Omit<Schema, "name">) };
}

/** The statements of `schema.sql` for this schema, one by one. */
export const creationOf = ({ name }: Schema): readonly string[] =>
  file
    // Unchanged for its own name, so that the functions are equal to those that psql creates.
    .replaceAll(/\bsvc_webhooks\b/g, name === defaultSchema ? name : `"${name}"`)
    .split(/\n\n+/)
    // The file's heading is a comment only.
    .filter((part) => /^(?!--)/m.test(part.trim()));
