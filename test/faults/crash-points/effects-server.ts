import { postgresServer } from "@svc-webhooks/kit/postgres-server";
import { migrate } from "@svc-webhooks/postgres";
import { Pool } from "pg";

/** A PostgreSQL server with the store's tables and the table of effects. */
export interface EffectsServer {
  readonly connectionString: string;
  readonly pool: Pool;
  readonly close: () => Promise<void>;
}

export async function effectsServer(): Promise<EffectsServer> {
  const { connectionString, close } = await postgresServer();
  const pool = new Pool({ connectionString });
  await migrate(pool);
  await pool.query("create table effects (delivery_id text)");
  return {
    connectionString,
    pool,
    async close() {
      await pool.end();
      await close();
    },
  };
}
