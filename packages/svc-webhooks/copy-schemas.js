import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";

/*
 * Part of the build: copies the SQL of the stores to paths that users can name. pnpm links only the packages that an app
 * names itself, so `node_modules/@svc-webhooks/postgres` does not exist there.
 */

const { resolve } = createRequire(import.meta.url);
for (const name of ["postgres", "sqlite"]) {
  const folder = dirname(resolve(`@svc-webhooks/${name}/package.json`));
  cpSync(join(folder, "schema.sql"), join(import.meta.dirname, name, "schema.sql"));
}
