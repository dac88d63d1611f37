import { setTimeout as pause } from "node:timers/promises";
import type { Handler as CoreHandler } from "@svc-webhooks/core";
import type { FindingKind } from "@svc-webhooks/testing/crash-test";
import type { PostgresStore } from "@svc-webhooks/postgres";
import { fixture } from "@svc-webhooks/testing";
import type { Pool, PoolClient } from "pg";

/*
 * Handlers with one planted mistake each, and handlers without a mistake. Both forms of the crash test run them: their
 * state is in PostgreSQL, and their calls are requests to one API.
 */

/** The parts of the world that a handler uses. */
export interface Tools {
  readonly pool: Pool;
  readonly store: PostgresStore<PoolClient>;
  /** Calls the API: `POST /<path>`. Rejects unless the status is 2xx. */
  readonly call: (path: string, key?: string) => Promise<void>;
  /** Sends the request of `call`, and resolves to the response, whatever its status. */
  readonly post: (path: string, key?: string) => Promise<Response>;
  /** A time longer than the receiver's `handlerTimeoutMs`, in milliseconds. */
  readonly longMs: number;
}

/** Returns the functions that call the API at a URL. */
export function apiAt(url: string): Pick<Tools, "call" | "post"> {
  const post: Tools["post"] = (path, key) => {
    const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
    return fetch(`${url}/${path}`, { method: "POST", headers });
  };
  return {
    post,
    async call(path, key) {
      const { ok, status } = await post(path, key);
      if (!ok) throw new Error(`The API responded with ${status}.`);
    },
  };
}

export type Handler = CoreHandler;

export interface Planted {
  readonly name: string;
  /** The finding that it must get. Undefined for a correct handler. */
  readonly finding?: `${FindingKind} ${string}`;
  /** The beginning of the advice. */
  readonly advice?: RegExp;
  /** The number of faults that the finding needs. */
  readonly faults?: number;
  /** Creates the handler of a process: state in its closure is lost in a crash. */
  readonly handler: (tools: Tools) => Handler;
  readonly events?: readonly unknown[];
  /** Whether the handler takes longer than the receiver's `handlerTimeoutMs`. */
  readonly isSlow?: true;
}

/** The tables of all handlers. */
export const tables = `
  create table orders (id serial primary key, email_id text not null, created_at timestamptz not null default now());
  create table audits (id serial primary key, email_id text not null);
  create table seen (key text primary key);
  create table keyed (key text primary key, email_id text not null);
  create table outbox (id serial primary key, mail text not null);
  create table stats (name text primary key, n int not null);
  insert into stats values ('emails', 0);
  create table states (email_id text primary key, state text not null, at timestamptz not null);
  create table queue (id serial primary key);
  insert into queue select from generate_series(1, 5);
  create table flags (is_on boolean not null);
  insert into flags values (false);
  create table parents (id uuid primary key default gen_random_uuid(), note text not null);
  create table answers (answer text not null default 'unknown');
  create table children (parent uuid not null references parents, t text not null);
  insert into states values ('msg_email_1', 'new', '2000-01-01');
`;

const emailId = (event: unknown): string =>
  (event as { readonly data: { readonly email_id: string } }).data.email_id;

const insertOrder = (client: Pick<Pool | PoolClient, "query">, event: unknown) =>
  client.query("insert into orders (email_id) values ($1)", [emailId(event)]);

const insertAudit = (client: Pick<Pool | PoolClient, "query">, event: unknown) =>
  client.query("insert into audits (email_id) values ($1)", [emailId(event)]);

const write =
  "insert into states values ($1, $2, now()) on conflict (email_id) do update set state = excluded.state";

const twoEvents = [fixture("email.sent"), fixture("email.delivered")];

export const mistakes: readonly Planted[] = [
  {
    name: "charge, then insert",
    finding: "duplicate charge",
    advice: /^Pass `context.idempotencyKey` to/,
    handler:
      ({ store, call }) =>
      async (event, context) => {
        await call("charge");
        await store.transaction(context, (tx) => insertOrder(tx, event));
      },
  },
  {
    name: "insert without transaction",
    finding: "duplicate orders",
    advice: /^Write to `orders` inside `store.transaction`/,
    handler:
      ({ pool }) =>
      (event) =>
        insertOrder(pool, event),
  },
  {
    name: "two inserts without transaction",
    finding: "duplicate orders",
    advice: /^Write to `orders` inside `store.transaction`/,
    handler:
      ({ pool }) =>
      async (event) => {
        await insertOrder(pool, event);
        await insertAudit(pool, event);
      },
  },
  {
    name: "read, modify, write",
    finding: "different stats",
    advice: /^More than one run may have changed `stats`/,
    handler:
      ({ pool }) =>
      async () => {
        const { rows } = await pool.query<{ n: number }>(
          "select n from stats where name = 'emails'",
        );
        await pool.query("update stats set n = $1 where name = 'emails'", [Number(rows[0]?.n) + 1]);
      },
  },
  {
    name: "mail before the commit",
    finding: "duplicate mail",
    advice: /^A rollback does not undo/,
    handler:
      ({ store, call }) =>
      (event, context) =>
        store.transaction(context, async (tx) => {
          await insertOrder(tx, event);
          await call("mail");
        }),
  },
  {
    name: "slow, ignores context.signal",
    isSlow: true,
    finding: "duplicate report",
    advice: /^Pass `context.idempotencyKey` to/,
    handler:
      ({ call, longMs }) =>
      async () => {
        await pause(longMs);
        await call("report");
      },
  },
  {
    name: "counter in memory",
    finding: "different stats",
    advice: /^The value written to `stats` probably comes from the process's memory/,
    handler: ({ store }) => {
      let count = 0;
      return (_event, context) => {
        count += 1;
        return store.transaction(context, (tx) =>
          tx.query("update stats set n = $1 where name = 'emails'", [count]),
        );
      };
    },
  },
  {
    name: "Promise.all of charge with key and mail",
    finding: "duplicate mail",
    advice: /^Pass `context.idempotencyKey` to/,
    handler:
      ({ call }) =>
      (_event, { idempotencyKey }) =>
        Promise.all([call("charge", idempotencyKey), call("mail")]),
  },
  {
    name: "forgotten await",
    finding: "partial mail",
    advice: /is not awaited/,
    handler:
      ({ store, call }) =>
      async (event, context) => {
        void call("mail", context.idempotencyKey).catch(() => {});
        await store.transaction(context, (tx) => insertOrder(tx, event));
      },
  },
  {
    name: "swallows an error",
    finding: "lost mail",
    advice: /^The handler resolved although/,
    handler:
      ({ call }) =>
      async (_event, { idempotencyKey }) => {
        try {
          await call("mail", idempotencyKey);
        } catch {
          // The mistake: nobody learns of it.
        }
      },
  },
  {
    name: "does not check the status",
    finding: "lost mail",
    advice:
      /^The handler resolved although `POST [\w.]+\/mail` responded 503\. Check the status of the response/,
    handler:
      ({ post }) =>
      async (_event, { idempotencyKey }) => {
        await post("mail", idempotencyKey);
      },
  },
  {
    name: "set of ids in memory, added first",
    finding: "lost mail",
    advice: /^A later run ended before/,
    handler: ({ call }) => {
      const seen = new Set<string>();
      return async (_event, { idempotencyKey }) => {
        if (seen.has(idempotencyKey)) return;
        seen.add(idempotencyKey);
        await call("mail", idempotencyKey);
      };
    },
  },
  {
    name: "row of the id first, then mail",
    finding: "partial mail",
    advice: /^A later run ended before/,
    handler:
      ({ pool, call }) =>
      async (_event, { idempotencyKey }) => {
        const text = "insert into seen values ($1) on conflict do nothing";
        const { rowCount } = await pool.query(text, [idempotencyKey]);
        if (rowCount !== 0) await call("mail", idempotencyKey);
      },
  },
  {
    name: "random key",
    finding: "duplicate charge",
    advice: /^The key of .* changes from run to run/,
    handler:
      ({ call }) =>
      () =>
        call("charge", crypto.randomUUID()),
  },
  {
    name: "key contains the run",
    finding: "duplicate charge",
    advice: /^The key of .* changes from run to run/,
    handler:
      ({ call }) =>
      (_event, { idempotencyKey, run }) =>
        call("charge", `${idempotencyKey}-${run}`),
  },
  {
    name: "mail after the commit",
    finding: "partial mail",
    advice: /^The commit completes the event/,
    handler:
      ({ store, call }) =>
      async (event, context) => {
        await store.transaction(context, (tx) => insertOrder(tx, event));
        await call("mail", context.idempotencyKey);
      },
  },
  {
    name: "queue in memory, responds first",
    finding: "lost mail",
    advice: /is not awaited/,
    handler: ({ call }) => {
      const queue: string[] = [];
      const work = async () => {
        const key = queue.shift();
        if (key !== undefined) await call("mail", key).catch(() => {});
      };
      return (_event, { idempotencyKey }) => {
        queue.push(idempotencyKey);
        setTimeout(() => void work(), 50);
      };
    },
  },
  {
    name: "last write wins, two events",
    finding: "order_dependent states",
    advice: /^A late retry overwrites newer data/,
    events: twoEvents,
    handler:
      ({ store }) =>
      (event, context) =>
        store.transaction(context, (tx) => tx.query(write, [emailId(event), event.type])),
  },
  {
    name: "one insert before the transaction",
    finding: "duplicate audits",
    advice: /^Write to `audits` inside `store.transaction`/,
    handler:
      ({ pool, store }) =>
      async (event, context) => {
        await insertAudit(pool, event);
        await store.transaction(context, (tx) => insertOrder(tx, event));
      },
  },
  {
    name: "catches an error after the transaction",
    finding: "partial audits",
    advice: /^(?:The handler resolved although|The commit completes the event)/,
    handler:
      ({ pool, store }) =>
      async (event, context) => {
        await store.transaction(context, (tx) => insertOrder(tx, event));
        await insertAudit(pool, event).catch(() => {});
      },
  },
  {
    name: "marker row first, then insert",
    finding: "partial keyed",
    advice: /^A later run ended before/,
    handler:
      ({ pool }) =>
      async (event, { idempotencyKey }) => {
        const text = "insert into seen values ($1) on conflict do nothing";
        const { rowCount } = await pool.query(text, [idempotencyKey]);
        if (rowCount === 0) return;
        await pool.query("insert into keyed values ($1, $2)", [idempotencyKey, emailId(event)]);
      },
  },
  {
    name: "gives up silently in run 3",
    finding: "lost mail",
    advice: /^A later run ended before/,
    faults: 2,
    handler:
      ({ call }) =>
      async (_event, { idempotencyKey, run }) => {
        if (Number(run) < 3) await call("mail", idempotencyKey);
      },
  },
];

/** State in a variable of the module, which survives a simulated crash. */
const charged = new Set<string>();

/** The mistake that only form B finds. In form A, the second history finds the id of the first, and does nothing. */
export const outsideOfFormA: Planted = {
  name: "set of ids in a variable of the module",
  finding: "duplicate charge",
  advice: /^Pass `context.idempotencyKey` to/,
  handler:
    ({ call }) =>
    async (_event, { idempotencyKey }) => {
      if (charged.has(idempotencyKey)) return;
      await call("charge");
      charged.add(idempotencyKey);
    },
};

export const correct: readonly Planted[] = [
  {
    name: "transaction",
    handler:
      ({ store }) =>
      (event, context) =>
        store.transaction(context, (tx) => insertOrder(tx, event)),
  },
  {
    name: "key",
    handler:
      ({ call }) =>
      (_event, { idempotencyKey }) =>
        call("charge", idempotencyKey),
  },
  {
    name: "unique key",
    handler:
      ({ pool }) =>
      (event, { idempotencyKey }) =>
        pool.query("insert into keyed values ($1, $2) on conflict do nothing", [
          idempotencyKey,
          emailId(event),
        ]),
  },
  {
    name: "outbox",
    handler:
      ({ store }) =>
      (event, context) =>
        store.transaction(context, async (tx) => {
          await insertOrder(tx, event);
          await tx.query("insert into outbox (mail) values ($1)", [emailId(event)]);
        }),
  },
  {
    name: "key, then transaction",
    handler:
      ({ store, call }) =>
      async (event, context) => {
        await call("charge", context.idempotencyKey);
        await store.transaction(context, (tx) => insertOrder(tx, event));
      },
  },
  {
    name: "guarded status",
    events: twoEvents,
    handler:
      ({ store }) =>
      (event, context) =>
        store.transaction(context, (tx) =>
          tx.query(
            "update states set state = $2 where email_id = $1 and (state = 'new' or $2 = 'email.delivered')",
            [emailId(event), event.type],
          ),
        ),
  },
];
