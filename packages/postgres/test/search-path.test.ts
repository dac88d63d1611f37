import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { clientKinds } from "@svc-webhooks/kit/postgres-clients";
import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { migrate, postgresStore, type PostgresStore } from "@svc-webhooks/postgres";
import { Pool } from "pg";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import {
  applyFile,
  claimed,
  contents,
  insert,
  key,
  newDelivery,
  receiverOver,
  schemaFile,
  useServer,
} from "./support.js";

/** Calls every function of the schema, and every statement of the store. */
async function useAll(store: PostgresStore<unknown>): Promise<void> {
  expect(await store.check()).not.toContainEqual(expect.stringContaining("svc_webhooks"));
  await claimed(store);
  expect(await store.extend(key, { ...claimBy("a"), leaseMs: 60_000 }, call)).toBe(true);
  expect(await store.release(key, { ...claimBy("a"), to: "failed" }, call)).toBe(true);
  await store.transaction(await claimed(store), async () => {
    expect(await store.extend(key, { ...claimBy("a"), leaseMs: 60_000 }, call)).toBe(true);
  });
  expect(await store.complete(key, claimBy("a"), call)).toBe("owner");
  expect(await store.forget(key, call)).toBe(true);
  expect(await store.complete(key, claimBy("b"), call)).toBe("restored");
  expect(await store.purge()).toBe(0);
}

/** Returns an operator with types of an expression in version 1, for which PostgreSQL itself has none. */
const operator = (name: string, left: string, right: string) => `
  create function public.trap(l ${left}, r ${right}) returns numeric language plpgsql
    as $$ begin raise exception 'trapped as %', current_user; end $$;
  create operator public.${name} (leftarg = ${left}, rightarg = ${right}, function = public.trap)`;

const traps: Readonly<Record<string, string>> = {
  "numeric * integer": operator("*", "numeric", "integer"),
  "numeric / integer": operator("/", "numeric", "integer"),
  "bigint / numeric": operator("/", "bigint", "numeric"),
  "to_timestamp(numeric)": `create function public.to_timestamp(n numeric) returns timestamptz
    language plpgsql as $$ begin raise exception 'trapped as %', current_user; end $$`,
  "hashtextextended(text, integer)": `create function public.hashtextextended(t text, i integer) returns bigint
    language plpgsql as $$ begin raise exception 'trapped as %', current_user; end $$`,
};

/** The names in the package's SQL. */
const words = ((): readonly string[] => {
  const folder = fileURLToPath(new URL("../src", import.meta.url));
  const sources = readdirSync(folder).map((name) => `${folder}/${name}`);
  const texts = [schemaFile, ...sources.filter((name) => name.endsWith(".ts"))].map((name) =>
    readFileSync(name, "utf8"),
  );
  return [...new Set(texts.join(" ").match(/[a-z_0-9]{2,}/g))];
})();

/**
 * A schema with each type, function and operator that the package's SQL may use, and with operators for all
 * pairs of its types. All of them fail.
 */
const shadows = `
  create schema shadows;
  do $do$
  declare
    r record;
    types name[] := '{text,name,int2,int4,int8,numeric,float8,timestamptz,interval,uuid,oid,bool,char}';
    operators text[] := '{=,<>,<,<=,>,>=,+,-,*,/,||}';
    body text := 'language plpgsql as $$ begin raise exception ''the name was resolved through search_path''; end $$';
  begin
    for r in select one.typname as l, name, other.typname as r
      from pg_type one, pg_type other, unnest(operators) name
      where one.typname = any(types) and other.typname = any(types)
        and one.typnamespace = 'pg_catalog'::regnamespace and other.typnamespace = one.typnamespace
    loop
      execute format('create or replace function shadows.operator(l %I, r %I) returns bool %s', r.l, r.r, body);
      execute format('create operator shadows.%s (leftarg = %I, rightarg = %I, function = shadows.operator)', r.name, r.l, r.r);
    end loop;
    for r in select p.oid, p.proname from pg_proc p
      where p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any('{${words.join(",")}}'::name[])
    loop
      begin
        execute format('create function shadows.%I(%s) returns %s %s', r.proname,
          pg_get_function_identity_arguments(r.oid), coalesce(pg_get_function_result(r.oid), 'void'), body);
      exception when others then null; -- plpgsql does not accept some types of parameters, such as "any".
      end;
    end loop;
    for r in select t.typname from pg_type t where t.typtype = 'b'
      and t.typnamespace = 'pg_catalog'::regnamespace and t.typname = any('{${words.join(",")},char}'::name[])
    loop
      execute format('create domain shadows.%I as pg_catalog.%I check (false)', r.typname, r.typname);
    end loop;
  end $do$;
  grant usage on schema shadows to public`;

describeWithPostgres("objects that another role has created", () => {
  const server = useServer();
  const open = (user = "postgres") => {
    const pool = new Pool({
      connectionString: server().connectionString.replace("postgres@", `${user}@`),
      connectionTimeoutMillis: 5_000,
      max: 4,
    });
    onTestFinished(() => pool.end());
    return pool;
  };

  beforeEach(async () => {
    await open().query(`
      set client_min_messages = error;
      drop schema if exists svc_webhooks, shadows cascade;
      drop schema public cascade; create schema public;
      do $$ begin create role other login; exception when duplicate_object then null; end $$;
      do $$ begin create role app login superuser; exception when duplicate_object then null; end $$;
      grant create, usage on schema public to other;
      create table effects (name text)`);
  });

  test.each(Object.keys(traps))("in public are not called: %s", async (name) => {
    await open("other").query(traps[name] ?? "");
    const app = open("app");
    expect(await migrate(app)).toBe(true);
    const store = postgresStore(app);
    await useAll(store);
    const { receive, handlerErrors } = receiverOver({ store }, (context) =>
      store.transaction(context, (tx) => tx.query(insert, ["a"])),
    );
    const { code } = await receive(newDelivery());
    expect([code, ...handlerErrors]).toEqual(["processed"]);
  });

  test.each(clientKinds.filter(({ name }) => / ?pg$/.test(name)))(
    "before pg_catalog in the search_path are not called, over $name",
    async ({ open: over }) => {
      const admin = open();
      expect(await migrate(admin)).toBe(true);
      const expected = (await admin.query(contents("svc_webhooks"))).rows;
      await admin.query(shadows);
      const { rows } = await admin.query<{ count: number }>(
        "select count(*)::int from pg_proc where pronamespace = 'shadows'::regnamespace",
      );
      expect(rows[0]?.count).toBeGreaterThan(200);
      const shadowed = `${server().connectionString}?options=-c%20search_path%3Dshadows,pg_catalog`;
      const client = over(shadowed);
      onTestFinished(() => client.close());
      await useAll(client.store);
      await admin.query("drop schema svc_webhooks cascade");
      expect(await client.migrate()).toBe(true);
      expect((await admin.query(contents("svc_webhooks"))).rows).toEqual(expected);
      await useAll(client.store);
      await admin.query("drop schema svc_webhooks cascade");
      await applyFile(shadowed);
      expect((await admin.query(contents("svc_webhooks"))).rows).toEqual(expected);
      expect(await client.migrate()).toBe(false);
    },
  );
});

/** Returns the functions of a file that use the `search_path` of their caller. */
const openFunctions = (file: string): readonly (string | undefined)[] =>
  file
    .split(/^create (?:or replace )?function /im)
    .slice(1)
    .filter((text) => !text.split("$$")[0]?.includes(" set search_path = pg_catalog, pg_temp "))
    .map((text) => text.split("(")[0]);

test("every function of schema.sql sets its own search_path", () => {
  const file = readFileSync(schemaFile, "utf8");
  expect(openFunctions(file)).toEqual([]);
  const clause = " set search_path = pg_catalog, pg_temp";
  expect(openFunctions(file.replace(clause, ""))).toEqual(["svc_webhooks.hour_1"]);
  expect(openFunctions(file.replaceAll(clause, ""))).toHaveLength(8);
});
