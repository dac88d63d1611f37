import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { factsOfStatement, tableOf } from "../../src/postgres.js";

const factsOf = (sql: string) => {
  const { name, effects, reads } = factsOfStatement(sql);
  return [name, effects.join(), reads.join()];
};

describe("the name of a statement, the tables that it writes, and those that it reads", () => {
  test.each([
    ["select * from orders where id = $1", "select from orders", "", "orders"],
    [
      "select * from orders, users u, items as i where 1=1",
      "select from orders",
      "",
      "orders,users,items",
    ],
    ["SELECT id FROM Orders o JOIN users u USING (id)", "select from orders", "", "orders,users"],
    ["select * from only orders", "select from orders", "", "orders"],
    ["select * from generate_series(1, 3)", "select * from generate_series", "", ""],
    ["select * from (select * from orders) o", "select from orders", "", "orders"],
    ["select * from lateral (select 1) x", "select * from lateral", "", ""],
    ["insert into orders(id) values ($1)", "insert into orders", "orders", ""],
    ["insert into archive select * from orders", "insert into archive", "archive", "orders"],
    ["insert into orders values (1) on conflict do nothing", "insert into orders", "orders", ""],
    [
      "insert into orders values (1) on conflict (id) do update set n = 1",
      "insert into orders",
      "orders",
      "",
    ],
    ["update only stats set n = n + 1", "update stats", "stats", ""],
    ["update stats s set n = 1 from orders o where o.id = s.id", "update stats", "stats", "orders"],
    ["update stats set n = (select count(*) from stats)", "update stats", "stats", ""],
    ["delete from orders using users where true", "delete from orders", "orders", "users"],
    [
      "merge into stats using orders on true when matched then update set n = 1",
      "merge into stats",
      "stats",
      "orders",
    ],
    ["truncate table orders, users", "truncate orders", "orders,users", ""],
    ["copy orders (id, n) from stdin", "copy orders", "orders", ""],
    ["copy orders to stdout", "copy from orders", "", "orders"],
    ["copy (select * from orders) to stdout", "copy from orders", "", "orders"],
    ["explain analyze insert into orders values (1)", "insert into orders", "orders", ""],
    ["select 1", "select 1", "", ""],
    ["select pg_advisory_xact_lock(1)", "select pg_advisory_xact_lock", "", ""],
    ["set local statement_timeout = 1000", "set local statement_timeout = 1000", "", ""],
    ["create table shop.orders (id text)", "create table shop.orders", "", ""],
    ["values (1)", "values", "", ""],
    ["", "an empty statement", "", ""],
    [" ; -- nothing", "an empty statement", "", ""],
  ])("%s", (sql, ...facts) => expect(factsOf(sql)).toEqual(facts));
});

describe("a locking clause, and other uses of the same words, write and read nothing", () => {
  test.each([
    ["select * from orders for update", "orders"],
    ["select * from orders for update of orders skip locked", "orders"],
    ["select * from orders for no key update", "orders"],
    ["select extract(year from created_at) from orders", "orders"],
    ["select substring(x from 1 for 2), trim(both from y) from orders", "orders"],
    ["select a is distinct from b from orders", "orders"],
    ["select extract(year from (select max(at) from orders))", "orders"],
  ])("%s", (sql, reads) => expect(factsOf(sql)).toEqual(["select from orders", "", reads]));

  test("create trigger", () => {
    const [, effects] = factsOf("create trigger t after update on orders execute function f()");
    expect(effects).toBe("");
  });
});

describe("tables that `with` defines are not tables", () => {
  test.each([
    ["with a as (select * from orders) select * from a", "select from orders", "", "orders"],
    [
      "with a (x, y) as not materialized (select * from orders) select * from a",
      "select from orders",
      "",
      "orders",
    ],
    [
      "with a as (delete from inbox returning *) insert into archive select * from a",
      "delete from inbox",
      "inbox,archive",
      "",
    ],
    [
      "with recursive a as (select 1), b as (select * from orders) select * from a, b",
      "select from orders",
      "",
      "orders",
    ],
  ])("%s", (sql, ...facts) => expect(factsOf(sql)).toEqual(facts));
});

describe("quoted names", () => {
  test.each([
    [`insert into "Orders" values (1)`, "insert into Orders", "Orders", ""],
    [`insert into "public"."orders" values (1)`, "insert into orders", "orders", ""],
    [
      `update "my schema" . "my table" set a = 1`,
      "update my schema.my table",
      "my schema.my table",
      "",
    ],
    [`select "delete from fake" from orders`, "select from orders", "", "orders"],
    [`select * from "a""b"`, `select from a"b`, "", `a"b`],
    [`select * from täble`, "select from täble", "", "täble"],
  ])("%s", (sql, ...facts) => expect(factsOf(sql)).toEqual(facts));
});

describe("comments and literals may contain anything", () => {
  test.each([
    ["-- insert into fake\nselect * from orders"],
    ["select /* delete from fake */ 'insert into fake; commit' from orders"],
    ["/* a /* nested */ delete from fake */ select * from orders"],
    ["select 'it''s', 'delete from fake' from orders"],
    [String.raw`select E'it\'s; delete from fake' from orders`],
    ["select $$delete from fake$$, $tag$ $$ update fake set $tag$ from orders"],
    ["select * from orders where id = $1 and n = $2"],
    ["select * from orders where a = 'never closed; delete from fake"],
    ["select * from orders where a = $$never closed; delete from fake"],
    ["select * from orders /* never closed; delete from fake"],
  ])("%s", (sql) => expect(factsOf(sql)).toEqual(["select from orders", "", "orders"]));
});

describe("transactions", () => {
  test.each([
    ["begin", "begin", true, undefined],
    [
      "START TRANSACTION ISOLATION LEVEL SERIALIZABLE",
      "start transaction isolation level serializable",
      true,
      undefined,
    ],
    ["commit", "commit", false, "commit"],
    ["END", "end", false, "commit"],
    ["rollback", "rollback", false, "rollback"],
    ["abort", "abort", false, "rollback"],
    ["rollback to savepoint a", "rollback to savepoint a", false, undefined],
    ["rollback work to a", "rollback work to a", false, undefined],
    ["commit prepared 'x'", "commit prepared ''", false, undefined],
    ["savepoint a", "savepoint a", false, undefined],
    ["select 'commit'", "select ''", false, undefined],
    ["select 1; commit", "select 1", false, "commit"],
    ["begin; insert into orders values (1); commit", "insert into orders", true, "commit"],
  ])("%s", (sql, name, begins, ends) => {
    expect(factsOfStatement(sql)).toMatchObject({ name, begins, ends, kind: "statement" });
  });
});

test("several statements of one message have the effects of all", () => {
  const facts = factsOf(
    "insert into orders select * from items; update users set n = 1; select * from items",
  );
  expect(facts).toEqual(["insert into orders", "orders,users", "items"]);
});

describe("calls of the store", () => {
  test.each([
    [`select "svc_webhooks".claim_1($1, $2)`, "claim", undefined],
    [`select * from svc_webhooks."claim_12" ($1)`, "claim", undefined],
    ["select svc_webhooks.finish_2($1)", "complete", undefined],
    [`select "svc_webhooks".complete_1($1); commit`, "complete and commit", "commit"],
    ["begin; select svc_webhooks.release_1($1)", "release", undefined],
  ])("%s", (sql, name, ends) => {
    const facts = { name, kind: "store", effects: [], reads: [], ends };
    expect(factsOfStatement(sql)).toMatchObject(facts);
  });

  test.each([
    "select claim_1 from orders",
    "select 'claim_1(' from orders",
    "select reclaim_1() from orders",
  ])("%s is not one", (sql) => expect(factsOfStatement(sql).kind).toBe("statement"));
});

test("a long name is shortened", () => {
  const { name } = factsOfStatement(`select * from ${"x".repeat(100)}`);
  expect(name).toHaveLength(60);
  expect(name.endsWith("…")).toBe(true);
});

test.each([
  ['"public"."orders"', "orders"],
  ["PUBLIC.orders", "orders"],
  ["shop . orders", "shop.orders"],
])("tableOf writes %s as %s", (name, table) => expect(tableOf(name)).toBe(table));

describe("the functions of the store", () => {
  const schema = readFileSync(
    new URL("../../../../packages/postgres/schema.sql", import.meta.url),
    "utf8",
  );
  const functions = Array.from(
    schema.matchAll(/create or replace function svc_webhooks\.(\w+)/g),
    ([, name = ""]) => name,
  );
  // Only the other functions call it.
  const called = functions.filter((name) => name !== "hour_1");

  test("are in its schema", () => expect(called).toContain("claim_1"));

  test.each(called)("%s is a call of the store", (name) => {
    expect(factsOfStatement(`select svc_webhooks.${name}($1) as reply`).kind).toBe("store");
  });
});
