import type { ClaimRequest } from "svc-webhooks";
import { postgresStore, type Database, type PostgresStore } from "svc-webhooks/postgres";
import { speed } from "./clock.js";

/**
 * Returns a store that divides leases by the speed of the receivers' clock, because the database measures them
 * by its own.
 */
export function fastStore<Tx>(database: Database<Tx>): PostgresStore<Tx> {
  const store = postgresStore(database);
  return {
    ...store,
    async claim(key, request: ClaimRequest, call) {
      const short = { ...request, leaseMs: request.leaseMs / speed };
      const result = await store.claim(key, short, call);
      return result.status === "busy"
        ? { ...result, leaseLeftMs: result.leaseLeftMs * speed }
        : result;
    },
    extend: (key, request, call) =>
      store.extend(key, { ...request, leaseMs: request.leaseMs / speed }, call),
  };
}
