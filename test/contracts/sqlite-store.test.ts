import type { DeliveryStore } from "@svc-webhooks/core";
import { sized } from "@svc-webhooks/kit/sized";
import { age, openSqlite, sqliteFile } from "@svc-webhooks/kit/sqlite";
import { migrate, sqliteStore } from "@svc-webhooks/sqlite";
import { storeContract } from "@svc-webhooks/testing/store";
import { describe, it } from "vitest";

const size = { modelRuns: sized(20, 500) };

storeContract(
  { describe, it },
  "the SQLite store",
  () => {
    const db = openSqlite();
    const store = sqliteStore(db, { synchronous: "normal" });
    migrate(db);
    return { store, advance: (ms) => db.prepare(age).run(ms) };
  },
  size,
);

// Each call uses another of three connections to the same file, as if it came from another process.
storeContract(
  { describe, it },
  "the SQLite store over several connections",
  () => {
    const file = sqliteFile();
    const connections = [openSqlite(file), openSqlite(file), openSqlite(file)] as const;
    const stores = connections.map((db) => sqliteStore(db, { synchronous: "normal" }));
    migrate(connections[0]);
    let calls = 0;
    const next = (): DeliveryStore => {
      calls += 1;
      return stores[calls % stores.length] as DeliveryStore;
    };
    const store: DeliveryStore = {
      shared: true,
      claim: (...call) => next().claim(...call),
      complete: (...call) => next().complete(...call),
      release: (...call) => next().release(...call),
      extend: (...call) => next().extend(...call),
      forget: (...call) => next().forget(...call),
    };
    return { store, advance: (ms) => connections[1].prepare(age).run(ms) };
  },
  size,
);
