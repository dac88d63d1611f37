import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { migrate } from "@svc-webhooks/postgres";
import { postgresServer, type PostgresServer } from "@svc-webhooks/kit/postgres-server";
import { Pool } from "pg";
import { rolldown } from "rolldown";
import { tables, type Planted } from "../../crash-tests/handlers.js";
import { query, start, type Started } from "./crash-testing.js";

export interface PlantedServer extends PostgresServer {
  /** The URL of the database with the tables. */
  readonly url: string;
  /** The receiver, in one file. */
  readonly program: string;
}

/** Starts a server with the tables of the planted handlers, and bundles their receiver so that it starts quickly. */
export async function withPlanted(): Promise<PlantedServer> {
  const input = fileURLToPath(new URL("servers/planted.ts", import.meta.url));
  const program = join(dirname(input), `.build/planted-${process.pid}.mjs`);
  const bundle = await rolldown({ input, platform: "node", external: "pg-native" });
  await bundle.write({ file: program });
  const server = await postgresServer();
  await query(server, "create database app");
  const url = `postgres://postgres@127.0.0.1:${server.port}/app`;
  const pool = new Pool({ connectionString: url });
  await migrate(pool);
  await pool.query(tables);
  await pool.end();
  return { ...server, url, program };
}

/** Runs a planted handler in form B. */
export function startPlanted(
  { url, program }: PlantedServer,
  { name, events = [{ type: "email.delivered" }] }: Planted,
  args: readonly string[],
  onFinished: (clean: () => Promise<void>) => void,
  env: NodeJS.ProcessEnv = {},
): Started {
  const types = events.map((event) => (event as { readonly type: string }).type);
  return start(
    [
      `--start=exec node ${program}`,
      ...types.map((type) => `--event=${type}`),
      "--secret-env=SIGNING_SECRET",
      "--through=DATABASE_URL",
      "--stub=API_URL",
      "--json",
      ...args,
    ],
    { DATABASE_URL: url, HANDLER: name, ...env },
    onFinished,
  );
}
