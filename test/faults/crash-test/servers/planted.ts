/* A receiver with the handler of `test/crash-tests/handlers.ts` that the variable HANDLER names. */
import { createServer } from "node:http";
import { createReceiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { postgresStore } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import { apiAt, correct, mistakes, outsideOfFormA } from "../../../crash-tests/handlers.js";

const {
  DATABASE_URL,
  API_URL,
  HANDLER,
  PORT,
  SIGNING_SECRET = "",
  LEASE_MS = "30000",
  CLAIM_MS = "1500",
} = process.env;

const planted = [...mistakes, outsideOfFormA, ...correct].find(({ name }) => name === HANDLER);
if (!planted) throw new Error(`There is no handler "${HANDLER}".`);

const pool = new Pool({ connectionString: DATABASE_URL });
// A connection that breaks while it is idle is replaced.
pool.on("error", () => {});
const store = postgresStore(pool);

const receiver = createReceiver({
  name: "crash-test",
  secret: SIGNING_SECRET,
  store,
  // A crash takes half a second, in which the other handlers must not be timed out.
  handlerTimeoutMs: planted.isSlow ? 1_000 : 8_000,
  leaseMs: Number(LEASE_MS),
  storeTimeouts: { claim: Number(CLAIM_MS) },
  logger: { info() {}, warn() {}, error() {} },
  on: { "*": planted.handler({ pool, store, ...apiAt(String(API_URL)), longMs: 1_020 }) },
});

// Calls then need no new connection, so that simultaneous ones keep their order.
await fetch(String(API_URL));
createServer(webhooks(receiver)).listen(Number(PORT), "127.0.0.1");
