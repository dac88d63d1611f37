import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type * as Sqlite from "@photostructure/sqlite";
import { createReceiver, PermanentError } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { migrate, sqliteInbox, sqliteStore } from "@svc-webhooks/sqlite";
import { isDeadly, isPoison, type SqliteSettings } from "./sqlite-load.js";

/** An acceptor or a worker of a chaos run, in its own process. Sends its port, or 0. */
const { role, file, driver, inOrder, inTransaction } = JSON.parse(
  process.argv[2] ?? "",
) as SqliteSettings;

const { DatabaseSync } = (await import(driver)) as typeof Sqlite;
const db = new DatabaseSync(file);
// Another process may be frozen while it writes.
const store = sqliteStore(db, { busyTimeoutMs: 60_000 });
const keyOf = (event: unknown) => String((event as { readonly key?: string }).key);
const inbox = sqliteInbox(db, {
  busyTimeoutMs: 60_000,
  // Enough attempts for an event whose worker is killed again and again.
  retry: { limit: 6, firstMs: 500, mostMs: 2_000 },
  ...(inOrder && { partitionBy: keyOf }),
});
migrate(db);

const insert = (event: unknown, deliveryId: string) =>
  void db
    .prepare("insert into effects (delivery, key, at) values (?, ?, ?)")
    .run(deliveryId, keyOf(event), Date.now());

const receiver = createReceiver({
  secret: "whsec_test",
  name: "chaos",
  store,
  leaseMs: 10_000,
  log: () => {},
  onHandlerError: () => {},
  on: {
    "*": inbox(async (event, context) => {
      const { n } = event as unknown as { readonly n: number };
      const isRepaired = db.prepare("select 1 from repaired").get() !== undefined;
      if (!isRepaired && isDeadly(n)) process.kill(process.pid, "SIGKILL");
      if (!isRepaired && isPoison(n)) throw new PermanentError("poison");
      if (Math.random() < 0.02) throw new Error("The handler failed.");
      await pause(Math.random() * 20);
      if (inTransaction) store.transaction(context, () => insert(event, context.deliveryId));
      else {
        insert(event, context.deliveryId);
        // A kill in this pause leaves the effect, and the event runs again.
        await pause(Math.random() * 200);
      }
      if (Math.random() < 0.01) throw new Error("The handler failed after its effect.");
    }),
  },
});

if (role === "worker") {
  await inbox.work(receiver, { concurrency: 12 });
  process.send?.(0);
} else {
  const server = createServer(webhooks(receiver));
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}
