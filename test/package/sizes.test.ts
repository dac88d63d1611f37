import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type RolldownOptions } from "rolldown";
import { describe, expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { isPackage } from "../../tools/build/is-package.js";
import { packagesOfKind } from "@svc-webhooks/kit/workspace";

/** Returns the bytes of a module without the packages that it imports, minified and gzipped. */
async function sizeOf(input: string, options: RolldownOptions = {}): Promise<number> {
  const bundle = await rolldown({
    input,
    cwd: root,
    external: (id, importer) => importer !== undefined && isPackage(id),
    platform: "neutral",
    ...options,
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  expect(output).toHaveLength(1);
  return gzipSync(output[0].code, { level: 9 }).length;
}

/**
 * Maximum size of a package's own code in bytes, minified and gzipped. In November 2026, the largest
 * adapter has 2,217: a quarter of it names the middleware that has consumed a body, 60 end a response whose headers
 * middleware has sent, 540 create no promise and no response twice, 8 copy a body whose bytes a `once` listener has
 * received too, and 13 are the second import of the core, which a bundle that contains the core does not have.
 */
const budgets = { adapter: 2_217, store: 2_700 } as const;

/** The maximum sizes of entries that do more, with the reasons. */
const ownBudgets: Readonly<Record<string, number>> = {
  // Half are texts with the fix for mistakes that would leave a handler or a receiver without deliveries. The rest are the
  // decorators, the look-up of handlers in providers, Nest's logger and hooks, and a mount for each of Express and Fastify.
  // 273 bytes refuse types and receivers that are not text, and request-scoped factories, and let hooks of routes run first.
  "@svc-webhooks/nest": 3_592,
  // These bytes are the SQL of the migrations; a guard of transactions for each driver; statements that other
  // roles cannot capture, and the detection of their objects in the schema; dead connections closed at every
  // moment, and slow ones kept. 120 bytes follow a transaction through `then` and `finally`, and keep `notify` and
  // `prepare` of postgres.js inside it; 61 report a claim that took over a run without a result; 150 word
  // errors in whole sentences with their fix. 254 read the states of records for `peek`. 48 read replies of clients whose
  // settings rename columns, or wrap or parse rows and values. 68 find out whether postgres.js is behind a pooler.
  // 83 name a client that transforms values in `migrate`, `check` and `peek` too. 318 end a transaction whose connection
  // has died although its lease is renewed, and close exactly that connection of postgres.js. 534 name statements of pg,
  // repeat calls on connections that have lost a name, and state which clients and poolers support no names.
  "@svc-webhooks/postgres": 15_764,
  // A third are texts with the fix. The rest recognizes the errors of four drivers, waits for a locked file without
  // blocking the process, refuses asynchronous work and transactions of the application, and checks the settings.
  // 80 read the states of records for `peek`, and 200 name an iterator that is open. 140 refuse a second store that would
  // change the settings of the connection, 40 continue after it was opened again, and 45 keep files without a
  // write-ahead log safe and transactions of the application without a lock. 210 name a log that cannot be opened, and
  // a file that was deleted while it is open. 70 keep reads in a rollback journal from blocking the process. The inbox
  // has 5,494: a third are its statements and triggers. A process that only has a store carries none of it but the
  // triggers, see below.
  "@svc-webhooks/sqlite": 11_739,
  // 671 bytes leave a connection that has died silently, after a single call without a reply; 522 detect
  // conditions that endanger records, such as a replica, eviction or rights that the user lacks; 17 report a claim
  // that took over a run without a result; 24 word errors. 352 read the states of records for `peek`, on a cluster too.
  "@svc-webhooks/redis": 3_992,
};

describe.each(["adapter", "store"] as const)("an %s", (kind) => {
  const entries = packagesOfKind(kind).flatMap((one) => one.entries);

  test.each(entries)("is small: %s", async (entry) => {
    const length = await sizeOf(entry);
    // A smaller bundle would mean that the package's own code is not included.
    expect(length).toBeGreaterThan(100);
    expect(length).toBeLessThanOrEqual(ownBudgets[entry] ?? budgets[kind]);
  });
});

test("the inbox on pg-boss is small", async () => {
  const length = await sizeOf("@svc-webhooks/pg-boss");
  expect(length).toBeGreaterThan(2_000);
  // A third is for operators: the numbers, the lists and the release of dead letters; a fifth is `check`, and another
  // one are texts with the fix. 400 bytes open keys after dead letters, or hold them. 70 reject for a queue that does not
  // exist, and 12 release the dead letters behind those that cannot be released. 330 replace connections that have died
  // silently, and 430 make the letter of an attempt that left no result, remove letters of events that are done, and give
  // stored jobs the settings of their queue. 740 ask the server which statements run before a connection is replaced, give
  // letters the settings of their queue in batches, list on after a removed job, remove the older of two letters, and
  // compare the schema of `boss`. 180 check the name of the queue, and check the queue itself once for all deliveries; no
  // other engine needs these. What all engines need is in `core/inbox` and `core/engine`.
  expect(length).toBeLessThanOrEqual(8_004);
});

/** Returns the size of a module that imports something of a package. */
const sizeOfImport = (
  code: string,
  external: RolldownOptions["external"] = [],
  options: RolldownOptions = {},
) =>
  sizeOf("using", {
    ...options,
    plugins: [
      {
        name: "using",
        resolveId: (id) => (id === "using" ? id : undefined),
        load: (id) => (id === "using" ? code : undefined),
      },
    ],
    external,
  });

test("a process that does not migrate carries none of the Postgres store's SQL", async () => {
  const length = await sizeOfImport('export { postgresStore } from "@svc-webhooks/postgres";', [
    /^@svc-webhooks\/core/,
    /^node:/,
  ]);
  expect(length).toBeGreaterThan(3_000);
  // A part of the code lists, for `check`, the objects that the schema lacks and those that do not belong to
  // it. 254 bytes read the states of records for `peek`, and 54 replies whatever the client's settings do to rows. 76 find
  // out whether postgres.js is behind a pooler, and 50 name a client that transforms values, in `check` and `peek` too. 269 end a
  // transaction whose connection has died although its lease is renewed. 535 name statements of pg, repeat calls on
  // connections that have lost a name, and state which clients and poolers support no names.
  expect(length).toBeLessThanOrEqual(10_828);
});

test("a process without a SQLite inbox carries none of it", async () => {
  const sizeOfStore = await sizeOfImport('export { sqliteStore } from "@svc-webhooks/sqlite";', [
    /^@svc-webhooks\/core/,
    /^node:/,
  ]);
  expect(sizeOfStore).toBeGreaterThan(3_000);
  // 246 bytes are for all stores: they name a full disk, and commit lazily while a worker of the connection runs the event.
  expect(sizeOfStore).toBeLessThanOrEqual(5_950);
});

describe("the client", () => {
  test("has at most 6,669 bytes with everything", async () => {
    const length = await sizeOfImport('export * from "@svc-webhooks/client";');
    expect(length).toBeGreaterThan(5_000);
    // Lower this limit when possible; the README promises 6.7 kB. `sendAll` has 240 of them, its items that are
    // not emails and its options that are checked before the first request 158, the request id in the
    // body of an error 30, and the text for a missing API key 30. 144 do not repeat a request after an error of the code
    // of `fetch`, and read responses of polyfills and mocks.
    expect(length).toBeLessThanOrEqual(6_669);
  });

  test.each([
    ["isSvcError", "client", 150],
    ["RateLimitError", "client", 300],
    ["rotatingSecrets", "client/rotation", 800],
  ])("costs little where only %s is imported", async (name, entry, limit) => {
    const length = await sizeOfImport(`export { ${name} } from "@svc-webhooks/${entry}";`);
    expect(length).toBeGreaterThan(50);
    expect(length).toBeLessThanOrEqual(limit);
  });
});

test("the inbox on BullMQ is small", async () => {
  const length = await sizeOf("@svc-webhooks/bullmq");
  expect(length).toBeGreaterThan(1_000);
  // Half is for operators: the numbers, the lists and the release of dead letters. The script that fences `discard`,
  // and the limit of an operator's calls with its error, cost 435. 205 keep the number
  // of jobs that wait for Redis and of commands that a release sends small. 35 refuse a state that is not listed.
  // 15 recognize a new job that has died before its state is read. 500 leave a server that is silent or a replica, keep
  // room for workers, and name missing options of connections; what all engines need is in `core/inbox` and `core/engine`.
  // 57 remove the bodies of done jobs. 341 ask a worker's connections for a reply, limit the stacks of jobs, and give a
  // letter the attempt that another tool has ordered. 83 limit how often the memory is read.
  expect(length).toBeLessThanOrEqual(3_747);
});

test("the inbox on Cloudflare Queues is small", async () => {
  const length = await sizeOf("@svc-webhooks/cloudflare/queues");
  expect(length).toBeGreaterThan(800);
  // 364 bytes are checks of options and bindings, with their texts; 161 store bodies that do not fit as text, and refuse
  // headers that do not fit; 120 are the schedule of retries.
  expect(length).toBeLessThanOrEqual(1_480);
});

test("the telemetry is small", async () => {
  const length = await sizeOf("@svc-webhooks/otel");
  expect(length).toBeGreaterThan(1_500);
  // A third are names and descriptions of metrics and attributes. 250 bytes keep a tracer that throws away from handlers.
  // Outcomes that start at 0 cost 210, so that an alert sees the first event; an SDK that is registered late 144, and a name
  // that is not the receiver's 53, which were silent mistakes. Numbers of a queue that answers after the deadline or not at
  // all cost 136, and the source of an event that an intake has accepted 44.
  expect(length).toBeLessThanOrEqual(3_459);
});

test("README states the size of a Worker with Hono (npx vitest run test/package/sizes.test.ts -u writes it)", async () => {
  const code =
    'export { createReceiver } from "svc-webhooks"; export { webhooks } from "svc-webhooks/hono";';
  const conditionNames = ["workerd", "worker", "browser", "import"];
  const bytes = await sizeOfImport(code, /^hono(?:\/|$)/, { resolve: { conditionNames } });
  expect(bytes).toBeGreaterThan(10_000);
  const readme = join(root, "README.md");
  const size = `${(Math.ceil(bytes / 100) / 10).toFixed(1)} kB`;
  const written = readFileSync(readme, "utf8").replace(/(?<=Hono adapter is )\S+ kB/, size);
  expect(written).toContain(`Hono adapter is ${size}`);
  await expect(written).toMatchFileSnapshot(readme);
});
