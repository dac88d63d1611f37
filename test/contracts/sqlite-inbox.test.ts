import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { outsideDirectory } from "@svc-webhooks/kit/programs";
import { sqliteInboxUnderTest } from "./runners/sqlite-inbox.mjs";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { describe, it } from "vitest";

const folder = outsideDirectory();
let files = 0;

// The cases run together, because most of them wait for a lease or a pause.
for (const [store, hasStore] of [
  ["the store of its file", true],
  ["a store elsewhere", false],
] as const) {
  inboxContract(
    { describe: describe.concurrent, it },
    `the SQLite inbox with ${store}`,
    (settings) => {
      const file = join(folder, `${(files += 1)}.db`);
      return sqliteInboxUnderTest(() => new DatabaseSync(file), settings, hasStore);
    },
    { order: true },
  );
}
