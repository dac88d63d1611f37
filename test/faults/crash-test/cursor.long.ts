import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { Client } from "pg";
import Cursor from "pg-cursor";
import { expect, onTestFinished, test } from "vitest";
import { Crossings } from "../../../tools/cli/src/crash-test/crossings.js";
import { postgresProxy } from "../../../tools/cli/src/crash-test/proxies/postgres.js";
import { serverWithTables } from "./crash-testing.js";

const actions = { kill: () => Promise.resolve(), freeze: () => Promise.resolve() };

async function connected(faults: ConstructorParameters<typeof Crossings>[0] = []) {
  const server = await serverWithTables();
  onTestFinished(() => server.close());
  const crossings = new Crossings(faults, [], actions);
  crossings.begin();
  crossings.recorder.attempt({ event: 0, n: 1, isCopy: false, process: "A" });
  const proxy = await postgresProxy({
    process: "A",
    host: "127.0.0.1",
    port: server.port,
    database: "app",
    crossings,
    onTlsRefused: () => {},
    onRefused: () => {},
  });
  onTestFinished(proxy.close);
  const client = new Client({
    connectionString: `postgres://postgres@127.0.0.1:${proxy.port}/app`,
  });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return { client, crossings };
}

const numbers = "select n from generate_series(1, $1::int) n";

describeWithPostgres("a client that reads a portal in parts", () => {
  test("gets each part, and the whole portal is one exchange", async () => {
    const { client, crossings } = await connected();
    const cursor = client.query(new Cursor(numbers, [5]));
    expect(await cursor.read(2)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(crossings.pending()).toEqual([1]);
    expect(await cursor.read(2)).toEqual([{ n: 3 }, { n: 4 }]);
    expect(await cursor.read(2)).toEqual([{ n: 5 }]);
    await cursor.close();
    await client.query("insert into stats values (1)");
    expect(crossings.pending()).toEqual([]);
    expect(crossings.recorder.crossings.map(({ name }) => name)).toEqual([
      "select n from generate_series",
      "insert into stats",
    ]);
  });

  test("gets the error of a part, and can continue", async () => {
    const { client, crossings } = await connected();
    const cursor = client.query(new Cursor("select 1 / (3 - n) as q from generate_series(1, 5) n"));
    await expect(cursor.read(5)).rejects.toThrow("division by zero");
    expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    expect(crossings.recorder.crossings.map(({ isRejected }) => isRejected)).toEqual([true, false]);
  });

  test("gets nothing if the call fails", async () => {
    const { client } = await connected([{ kind: "fail", point: 1 }]);
    const cursor = client.query(new Cursor(numbers, [5]));
    await expect(cursor.read(2)).rejects.toThrow("Connection terminated unexpectedly");
  });
});
