import { createReceiver, PermanentError, type Receiver } from "@svc-webhooks/core";
import { pgBossInbox, type PgBossInbox, type PgBossLike } from "@svc-webhooks/pg-boss";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bossOf } from "./boss.js";
import { listed } from "./world.js";

/** The option of the README. */
const options = "-c search_path=pg_catalog";

/**
 * Statements of a role that may only use the schema of pg-boss and create in `public`: operators for all pairs of types for which `pg_catalog`
 * has none, and functions that fit better than its own. They return what `pg_catalog` would, and record their calls.
 */
const traps = `
  create table public.trapped (name text, role text, query text);
  grant insert on public.trapped to public;
  create function public.trap(name text, result bool) returns bool language plpgsql as $$
    begin insert into public.trapped values (name, current_user, current_query()); return result; end $$;
  do $do$
  declare
    r record;
    symbol text;
    types oid[] := '{text,name,int2,int4,int8,numeric,float8,timestamptz,interval,uuid,oid,bool,jsonb,pgboss.job_state}'::regtype[];
  begin
    for r in select one.oid::regtype::text as l, other.oid::regtype::text as r, one.oid = other.oid as same
      from pg_type one, pg_type other where one.oid = any(types) and other.oid = any(types)
    loop
      foreach symbol in array '{=,<>,<,<=,>,>=}'::text[] loop
        begin
          execute format('create function public.compare(l %1$s, r %2$s, out result bool) language plpgsql as
            $$ begin insert into public.trapped values (%3$L, current_user, current_query());
              result := l::text operator(pg_catalog.%4$s) r::text; end $$',
            r.l, r.r, r.l || ' ' || symbol || ' ' || r.r, symbol);
          -- An enum is ordered by its values, not by their names.
          if r.same and r.l = 'pgboss.job_state' then
            execute format('create or replace function public.compare(l %1$s, r %1$s, out result bool) language plpgsql as
              $$ begin insert into public.trapped values (%2$L, current_user, current_query());
                result := l operator(pg_catalog.%3$s) r; end $$', r.l, 'job_state ' || symbol, symbol);
          end if;
          execute format('alter function public.compare(%s, %s) rename to %I', r.l, r.r, 'compare ' || symbol);
          execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.%I)',
            symbol, r.l, r.r, 'compare ' || symbol);
        exception when others then raise warning '%', sqlerrm;
        end;
      end loop;
      -- What these return does not matter: the record of the call fails the test.
      foreach symbol in array '{~,!~,~~,!~~,~*,!~*,@>,<@,&&,||,+,-,*,/}'::text[] loop
        execute format('create function public.any(l %1$s, r %2$s) returns %3$s language plpgsql as
          $$ begin insert into public.trapped values (%4$L, current_user, current_query()); return null; end $$',
          r.l, r.r, case when symbol ~ '[~@&]' then 'bool' else r.l end,
          r.l || ' ' || symbol || ' ' || r.r);
        execute format('alter function public.any(%s, %s) rename to %I', r.l, r.r, 'any ' || symbol);
        execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.%I)',
          symbol, r.l, r.r, 'any ' || symbol);
      end loop;
    end loop;
  end $do$;
  create function public.quote_ident(n name) returns text language plpgsql as $$
    begin insert into public.trapped values ('quote_ident', current_user, current_query()); return n::text; end $$;
  create function public.has_schema_privilege(u text, s oid, p text) returns bool language plpgsql as $$
    begin insert into public.trapped values ('has_schema_privilege', current_user, current_query()); return true; end $$`;

describeWithPostgres("objects that another role has created", () => {
  let server: PostgresServer;
  let admin: Pool;
  beforeAll(async () => {
    server = await postgresServer();
    admin = new Pool({ connectionString: server.connectionString });
    const boss = bossOf(server.connectionString);
    await boss.start();
    await boss.stop({ graceful: false });
    await admin.query(`create role mallory login;
      grant usage on schema pgboss to mallory;
      grant usage, create on schema public to mallory`);
    const mallory = new Pool({
      connectionString: server.connectionString.replace("postgres@", "mallory@"),
    });
    await mallory.query(traps);
    await mallory.end();
  });
  afterAll(async () => {
    await admin.end();
    await server.close();
  });

  const trapped = async () =>
    (await admin.query("select name, role, query from public.trapped")).rows as readonly object[];

  /** Opens a `PgBoss` whose sessions have these options. */
  async function open(settings: object) {
    const boss = bossOf(server.connectionString, settings);
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    return boss;
  }

  const partitionBy = (event: object) => (event as { readonly key?: string }).key;

  /** Uses every function of an inbox and every statement of its worker. */
  async function useAll(inbox: PgBossInbox, behavior: { isDown: boolean }): Promise<void> {
    const receiver: Receiver = createReceiver({
      secret,
      name: "traps",
      log: () => {},
      onParked: () => {},
      on: {
        "*": inbox((event, { run }) => {
          // Fails once: the wait after a second failure would be longer than the rest of this test.
          if (partitionBy(event) === "b" && run === 1) throw new Error("retry");
          if (partitionBy(event) === "a" && behavior.isDown) throw new PermanentError("down");
        }),
      },
    });
    const send = async (id: string, key: string) =>
      (
        await receiver.receive(
          await signed(eventBody("email.sent", { id, key }), { "x-svc-delivery-id": id }),
        )
      ).code;
    const { admin: operator } = inbox;
    expect(await inbox.setup()).toBe(true);
    expect(await inbox.setup()).toBe(false);
    for (const id of ["a1", "a2", "a3"]) expect(await send(id, "a")).toBe("enqueued");
    expect(await send("b1", "b")).toBe("enqueued");
    expect(await send("a1", "a")).toBe("enqueued");
    const worker = await inbox.work(receiver, { concurrency: 2 });
    const dead = async () => (await operator.stats()).dead;
    await until(async () => (await dead()) >= 1, "an event is dead");
    // Revives it.
    expect(await send("a1", "a")).toBe("enqueued");
    await until(async () => (await operator.stats()).delayed === 1, "an event is retried");
    const [delayed] = await listed(operator.list({ state: "delayed" }));
    expect(await operator.get(delayed?.id ?? "")).toMatchObject({ state: "delayed" });
    expect(await operator.retry(delayed?.id ?? "")).toBe(true);
    await until(async () => (await dead()) >= 1, "an event is dead");
    await inbox.check();
    behavior.isDown = false;
    const [letter] = await listed(operator.list({ state: "dead", type: "email.sent" }));
    await operator.retry(letter?.id ?? "");
    await operator.discard(letter?.id ?? "", "test");
    await operator.release({ perSecond: 100, stopAfter: 100 });
    await until(async () => {
      const { ready, delayed: waiting, active, dead: left } = await operator.stats();
      return ready + waiting + active + left === 0;
    }, "all events are done");
    await worker.stop({ deadlineMs: 0 });
  }

  test.each(["continue", "hold"] as const)(
    "are called neither by pg-boss nor by the inbox with the options of the README, with %s",
    async (afterDead) => {
      const boss = await open({ options });
      const queue = `readme-${afterDead}`;
      await useAll(
        pgBossInbox(boss, { queue, partitionBy, afterDead, retry: { firstMs: 60_000 } }),
        { isDown: true },
      );
      expect(await trapped()).toEqual([]);
    },
  );

  test.each(["continue", "hold"] as const)(
    "are not called by the statements of the inbox without these options, with %s",
    async (afterDead) => {
      const safe = await open({ options });
      const unsafe = await open({ schedule: false, supervise: false, migrate: false });
      const boss = new Proxy<PgBossLike>(safe, {
        get(target, name) {
          if (name === "getDb") return () => unsafe.getDb();
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        },
      });
      await admin.query("delete from public.trapped");
      const queue = `own-${afterDead}`;
      await useAll(
        pgBossInbox(boss, { queue, partitionBy, afterDead, retry: { firstMs: 60_000 } }),
        { isDown: true },
      );
      expect(await trapped()).toEqual([]);
    },
  );

  test("are reported as possible by check, unless the sessions have these options", async () => {
    const reports = async (settings: object) => {
      const inbox = pgBossInbox(await open(settings), { queue: "checked" });
      await inbox.setup();
      return (await inbox.check()).filter((text) => text.includes("operators in public"));
    };
    expect(await reports({})).toHaveLength(1);
    expect(await reports({ options })).toEqual([]);
    await admin.query("revoke create on schema public from mallory");
    expect(await reports({})).toEqual([]);
  });

  test("are called by a statement that names no schema, so the traps work", async () => {
    await admin.query("delete from public.trapped");
    await admin.query("select count(*) from pgboss.job where state <> 'completed'");
    expect(await trapped()).toContainEqual(expect.objectContaining({ role: "postgres" }));
  });
});
