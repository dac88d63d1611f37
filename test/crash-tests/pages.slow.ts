import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createReceiver, type AnyEvent, type Receiver } from "@svc-webhooks/core";
import { migrate } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import { crashReport, type World } from "@svc-webhooks/testing/crash-test";
import type { Pool, PoolClient } from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { isFull } from "@svc-webhooks/kit/sized";
import { codeBlocks, compileBlocks, readmes, textOf } from "../package/readme.js";
import type { Handler, Tools } from "./handlers.js";
import { nameOf, reportOf } from "./in-process.js";
import { oneFault } from "./one-fault.js";

type Module = Readonly<Record<string, (tool: unknown, boss: unknown) => Receiver>>;

/** A function of a page that builds a receiver. */
interface Recipe {
  readonly page: string;
  readonly name: string;
  /** Returns the argument of the function. */
  readonly tool: (world: World<Pool>) => unknown;
  readonly events?: readonly unknown[];
  readonly tables?: string;
}

const recipes: readonly Recipe[] = [
  {
    page: "docs/recipes.md",
    name: "finishing",
    tool: ({ pool }) => pool,
    tables: "create table delivered (delivery_id text)",
  },
  {
    page: "docs/recipes.md",
    name: "severalRows",
    tool: ({ pool }) => pool,
    tables: `
      create table delivered (delivery_id text);
      create table totals (delivered int not null);
      insert into totals values (0)`,
  },
  {
    page: "docs/recipes.md",
    name: "chargingLater",
    tool: ({ pool }) => pool,
    events: [{ type: "order.paid", order: "1" }],
    tables: "create table orders (id text); create table jobs (data jsonb)",
  },
  {
    page: "docs/recipes.md",
    name: "inOrder",
    tool: ({ pool }) => pool,
    events: [fixture("email.sent"), fixture("email.delivered")],
    tables: `
      create table emails (id text primary key, status text not null);
      insert into emails values ('${fixture("email.sent").data.email_id}', 'queued')`,
  },
  {
    page: "docs/stores.md",
    name: "receiverOnNeon",
    tool: ({ pool }) => neonOver(pool),
    tables: "create table delivered (delivery_id text)",
  },
  {
    page: "docs/recipes.md",
    name: "receiverOn",
    tool: ({ pool }) => pool,
    tables: `
      create table delivered (delivery_id text);
      create table handled_events (key text primary key, handled_at timestamptz not null default now())`,
  },
  {
    page: "packages/core/README.md",
    name: "receiverOn",
    tool: ({ effect }) => ({
      upsert: effect("upsert", (_id: string, _delivery: string) => {}, { key: (id) => id }),
    }),
    events: [{ ...fixture("email.delivered"), account: "deleted" }],
  },
];

/** A `PgBoss` whose jobs are rows. `test/effects` runs the recipe with the real one. */
const boss = {
  send: (
    _queue: string,
    data: object,
    { db }: { readonly db: { executeSql(text: string, values: unknown[]): Promise<unknown> } },
  ) => db.executeSql("insert into jobs (data) values ($1)", [JSON.stringify(data)]),
};

/** Functions whose process is killed by their own test, because no fault can be injected into a synchronous driver. */
const killed = ["docs/recipes.md severalRowsInSqlite"];

/** Returns `neon` over a pool: a statement is sent when it is awaited, or in a batch. */
function neonOver(pool: Pool) {
  const query = (text: string, values: unknown[]) => ({
    on: async (client: Pool | PoolClient) => (await client.query(text, values)).rows as unknown,
    // oxlint-disable-next-line unicorn/no-thenable -- as Neon's statements are
    then(resolve: (rows: unknown) => unknown, reject: (error: unknown) => unknown) {
      return this.on(pool).then(resolve, reject);
    },
  });
  const transaction = async (statements: readonly ReturnType<typeof query>[]) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      for (const { on } of statements) await on(client);
      await client.query("commit");
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  };
  return { query, transaction };
}

/** A sentence of a page about handlers, and a handler that does what it says. */
interface Claim {
  readonly page: string;
  readonly words: string;
  readonly handler: (tools: Tools) => Handler;
  readonly findings: readonly string[];
  /** A part of the advice. */
  readonly advice?: string;
}

const insert = (client: Pick<Pool | PoolClient, "query">, event: AnyEvent) =>
  client.query("insert into orders (email_id) values ($1)", [event.type]);

const insertsInTransaction =
  ({ store }: Tools): Handler =>
  (event, context) =>
    store.transaction(context, (tx) => insert(tx, event));

const insertsTwiceWithThePool =
  ({ pool }: Tools): Handler =>
  async (event) => {
    await insert(pool, event);
    await pool.query("insert into audits (email_id) values ($1)", [event.type]);
  };

const insertsTwiceInTransaction =
  ({ store }: Tools): Handler =>
  (event, context) =>
    store.transaction(context, async (tx) => {
      await insert(tx, event);
      await tx.query("insert into audits (email_id) values ($1)", [event.type]);
    });

const insertsWithThePool =
  ({ pool }: Tools): Handler =>
  (event) =>
    insert(pool, event);

const insertsTheKey =
  ({ store }: Tools): Handler =>
  (event, context) =>
    store.transaction(context, (tx) =>
      tx.query("insert into keyed values ($1, $2)", [context.idempotencyKey, event.type]),
    );

const charges =
  ({ call }: Tools): Handler =>
  () =>
    call("charge");

const chargesWithTheKey =
  ({ call }: Tools): Handler =>
  (_event, { idempotencyKey }) =>
    call("charge", idempotencyKey);

const chargesInTransaction =
  ({ store, call }: Tools): Handler =>
  (event, context) =>
    store.transaction(context, async (tx) => {
      await insert(tx, event);
      await call("charge");
    });

const chargesBeforeTheTransaction =
  ({ store, call }: Tools): Handler =>
  async (event, context) => {
    await call("charge", context.idempotencyKey);
    await store.transaction(context, (tx) => insert(tx, event));
  };

const usesThePoolInWork =
  ({ store, pool }: Tools): Handler =>
  (event, context) =>
    store.transaction(context, () => insert(pool, event));

const forgetsAwait =
  ({ call }: Tools): Handler =>
  (_event, { idempotencyKey }) =>
    void call("mail", idempotencyKey).catch(() => {});

const catchesErrors =
  ({ call }: Tools): Handler =>
  async (_event, { idempotencyKey }) => {
    await call("mail", idempotencyKey).catch(() => {});
  };

const ignoresTheStatus =
  ({ post }: Tools): Handler =>
  async (_event, { idempotencyKey }) => {
    await post("mail", idempotencyKey);
  };

const claims: readonly Claim[] = [
  {
    page: "packages/postgres/README.md",
    words: "**exactly once**",
    handler: insertsInTransaction,
    findings: [],
  },
  {
    page: "packages/postgres/README.md",
    words: "the writes may happen twice",
    handler: insertsWithThePool,
    findings: ["duplicate orders"],
    advice: "inside `store.transaction`",
  },
  {
    page: "packages/postgres/README.md",
    words: "the effect may happen twice, so pass `idempotencyKey`",
    handler: charges,
    findings: ["duplicate charge"],
    advice: "Pass `context.idempotencyKey`",
  },
  {
    page: "packages/postgres/README.md",
    words: "Do not use the pool inside `work`.",
    handler: usesThePoolInWork,
    findings: ["stuck orders"],
    advice: "The statement waits for a connection",
  },
  {
    page: "packages/postgres/README.md",
    words: "remote work before the transaction",
    handler: chargesBeforeTheTransaction,
    findings: [],
  },
  {
    page: "README.md",
    words: "pass `context.idempotencyKey` to the API",
    handler: chargesInTransaction,
    findings: ["duplicate charge"],
    advice: "Pass a key: `context.idempotencyKey`",
  },
  {
    page: "docs/recipes.md",
    words: "Call the external API before the transaction, and pass `idempotencyKey` to it.",
    handler: chargesBeforeTheTransaction,
    findings: [],
  },
  {
    page: "docs/recipes.md",
    words: "a crash between two of them must neither lose the second effect nor repeat the first",
    handler: insertsTwiceWithThePool,
    findings: ["duplicate audits", "duplicate orders"],
  },
  {
    page: "docs/recipes.md",
    words: "Write them in one `store.transaction`.",
    handler: insertsTwiceInTransaction,
    findings: [],
  },
  {
    page: "docs/guarantees.md",
    words: "Pass it to payment and email APIs",
    handler: chargesWithTheKey,
    findings: [],
  },
  {
    page: "docs/guarantees.md",
    words: "insert it into a column with a unique constraint",
    handler: insertsTheKey,
    findings: [],
  },
  {
    page: "docs/guarantees.md",
    words: "a write through the pool",
    handler: insertsWithThePool,
    findings: ["duplicate orders"],
  },
  {
    page: "docs/guarantees.md",
    words: "a call that it does not await",
    handler: forgetsAwait,
    findings: ["lost mail"],
    advice: "is not awaited",
  },
  {
    page: "docs/guarantees.md",
    words: "an error that it catches",
    handler: catchesErrors,
    findings: ["lost mail"],
    advice: "The handler resolved although",
  },
  {
    page: "docs/guarantees.md",
    words: "a status that it does not check",
    handler: ignoresTheStatus,
    findings: ["lost mail"],
    advice: "Check the status of the response",
  },
  {
    page: "docs/test-your-handler.md",
    words: "`mail` is not awaited",
    handler: forgetsAwait,
    findings: ["lost mail"],
    advice: "is not awaited",
  },
];

const blocksOf = (page: string, name: string) =>
  codeBlocks(page).filter(({ code }) => code.includes(`export const ${name} = `));
const programs = ["docs/crash-test.md", "docs/crash-test-reference.md"]
  .flatMap(codeBlocks)
  .filter(({ code }) => code.includes('from "node:assert/strict"'));

const reports = new Map<Claim["handler"], ReturnType<typeof reportOf>>();

/** Runs a handler once, although several pages may describe it. */
function reportOnce(handler: Claim["handler"], name: string): ReturnType<typeof reportOf> {
  const report = reports.get(handler) ?? reportOf({ name, handler }, oneFault);
  reports.set(handler, report);
  return report;
}

const { modulePath, run } = await compileBlocks([
  ...recipes.flatMap(({ page, name }) => blocksOf(page, name)),
  ...programs,
]);

const silent = { info() {}, warn() {}, error() {} };

beforeAll(() => {
  for (const level of ["info", "warn", "error"] as const)
    vi.spyOn(console, level).mockReturnValue();
});
afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const reference = "docs/crash-test-reference.md";

/** The headings of lists of the reference, with the source and the pattern of the names in them. */
const documented = [
  ["Error codes", "tools/crash-test/src/errors.ts", /^ {2}\| "(\w+)"/gm],
  ["The faults", "tools/crash-test/src/faults.ts", /^ {2}"(\w+)",$/gm],
  ["The findings", "tools/crash-test/src/judge/advice.ts", /^ {2}(\w+): (?:\[|lostRules)/gm],
  ["Options", "tools/testing/src/crash-test/options.ts", /^ {2}readonly (\w+)\??:/gm],
  ["The world", "tools/testing/src/crash-test/world.ts", /^ {2}readonly (\w+):/gm],
] as const;

const namesIn = (text: string, pattern: RegExp) =>
  Array.from(text.matchAll(pattern), ([, name = ""]) => name).toSorted();

test.each(documented)(`${reference} lists each name below "%s"`, (heading, source, pattern) => {
  const section = textOf(reference).split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const names = namesIn(readFileSync(join(root, source), "utf8"), pattern);
  expect(names).not.toEqual([]);
  expect(namesIn(section, /^- `(\w+)/gm)).toEqual(names);
});

test("each function of a page that returns a receiver has a crash test", () => {
  const found = readmes().flatMap((page) =>
    codeBlocks(page).flatMap(({ code }) =>
      Array.from(
        code.matchAll(/^export const (\w+) = \([^)]*\): Receiver =>/gm),
        ([, name = ""]) => `${page} ${name}`,
      ),
    ),
  );
  const tested = [...recipes.map(({ page, name }) => `${page} ${name}`), ...killed];
  expect(tested.toSorted()).toEqual(found.toSorted());
});

test.each(recipes)("$name of $page has no finding", async ({ page, name, tool, ...setting }) => {
  const [block] = blocksOf(page, name);
  if (!block) throw new Error(`${page} must have the function ${name}.`);
  const module = (await import(pathToFileURL(modulePath(block)).href)) as Module;
  const { tables, events = [fixture("email.delivered")] } = setting;
  const { findings, unseen } = await crashReport<Pool>({
    events,
    maxFaults: 1,
    prepare: async ({ pool }) => {
      if (tables === undefined) return;
      await migrate(pool);
      await pool.query(tables);
    },
    receiver: (world) => {
      vi.stubEnv("SVC_WEBHOOK_SECRET", world.secret);
      const receiver = module[name]?.(tool(world), boss);
      return receiver ?? createReceiver({ secret: world.secret, logger: silent, on: {} });
    },
  });
  expect({ findings: findings.map(nameOf), unseen }).toEqual({ findings: [], unseen: [] });
});

test.each(claims)("$page: $words", async ({ page, words, handler, findings, advice = "" }) => {
  expect(textOf(page)).toContain(words);
  const report = await reportOnce(handler, words);
  expect(report.findings.map(nameOf).toSorted()).toEqual(findings);
  expect(report.findings[0]?.advice ?? "").toContain(advice);
});

// This block injects every fault into fifteen handlers, which takes half a minute.
const some = programs.filter(({ name }) => isFull || name !== `${reference} block 1`);

test.each(some)("$name has the findings that it asserts", async (block) => {
  expect(await run(block)).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
});
