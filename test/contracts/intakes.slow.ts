import { createIntake } from "@svc-webhooks/core";
import { age, pg, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { startModule } from "@svc-webhooks/kit/programs";
import { seeded } from "@svc-webhooks/kit/random";
import { patient } from "@svc-webhooks/kit/receivers";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";
import { sized } from "@svc-webhooks/kit/sized";
import { signers } from "@svc-webhooks/schemes/sign";
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { checkCrashedList, type ListWorld } from "./crashed-list.js";

const secret = "whsec_test";

/** A process with a receiver and an intake, which receives a request or an event in each message. */
const program = (port: number) => `
  import { createIntake, createReceiver } from "@svc-webhooks/core";
  import { redisStore } from "@svc-webhooks/redis";
  import { stripe } from "@svc-webhooks/schemes";
  import { Redis } from "ioredis";
  const redis = new Redis(${port}, "127.0.0.1");
  redis.once("ready", () => process.send("ready"));
  let finish;
  let finished;
  const options = {
    name: "billing",
    store: redisStore(redis),
    storeTimeouts: ${JSON.stringify(patient)},
    log: () => {},
    onParked: () => {},
    on: { "*": () => (process.send("started"), finished) },
  };
  const { receive } = createReceiver({ ...options, scheme: stripe(), secret: "${secret}" });
  const { accept } = createIntake({ ...options, sources: ["sdk"] });
  process.on("message", async (message) => {
    if (message === "finish") return finish();
    finished = new Promise((resolve) => (finish = resolve));
    const { headers, id, body } = message;
    const { code } = headers
      ? await receive({ method: "POST", headers, body: Buffer.from(body) })
      : await accept({ source: "sdk", id, body });
    process.send(code);
  });`;

describeWithRedis("two processes on one Redis", () => {
  test("run an event once that arrives by HTTP and in a call at the same time", async () => {
    const server = await redisServer();
    onTestFinished(() => server.close());
    const children = [
      startModule(program(server.port)),
      startModule(program(server.port)),
    ] as const;
    await Promise.all(children.map((child) => once(child, "message")));
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const id = `evt_${attempt}`;
      const body = JSON.stringify({ id, object: "event", type: "invoice.paid" });
      const headers = await signers.stripe(body, { secret });
      const heard: string[] = [];
      const ended = children.map(
        (child) =>
          new Promise<void>((resolve) => {
            const listener = (message: string) => {
              heard.push(message);
              // A result of the other process, or a second run, which must end too.
              if (heard.length === 2) for (const one of children) one.send("finish");
              if (message === "started") return;
              child.off("message", listener);
              resolve();
            };
            child.on("message", listener);
          }),
      );
      const [http, call] = attempt % 2 === 0 ? children : [children[1], children[0]];
      http.send({ headers, body });
      call.send({ id, body });
      await Promise.all(ended);
      expect(heard.toSorted()).toEqual(["in_flight", "processed", "started"]);
    }
  });
});

describeWithPostgres("on PostgreSQL", () => {
  let server: PostgresServer;
  let clients: readonly TestStore[] = [];
  beforeAll(async () => {
    server = await postgresServer();
    clients = [pg.open(server.connectionString), pg.open(server.connectionString)];
    await clients[0]?.migrate();
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await server?.close();
  });
  const query = async (text: string, values: string[] = []) =>
    (await clients[0]?.query(text, values)) ?? [];
  beforeEach(async () => {
    await query("drop table if exists effects");
    await query("create table effects (name text)");
  });
  const insert = "insert into effects values ($1)";
  const effects = async () =>
    (await query("select name from effects")).map(({ name }) => name as string);

  test.for(Array.from({ length: sized(3, 20) }, (_, seed) => seed))(
    "each effect of a list of 500 is applied once if its process crashes, seed %i",
    async (seed) => {
      const [client] = clients as readonly [TestStore];
      const world: ListWorld = {
        store: client.store,
        advance: (ms) => query(age, [String(ms)]),
        apply: (context, effect) =>
          client.store.transaction(context, (tx) => client.queryIn(tx, insert, [effect])),
        effects,
      };
      await checkCrashedList(world, seed, 500);
      expect(await effects()).toHaveLength(500);
    },
  );

  test("two intakes apply 300 events once, of 3 copies each, while a fifth of the runs fail", async () => {
    const { between } = seeded("1/load");
    const intakes = clients.map((client) =>
      createIntake({
        name: "load",
        store: client.store,
        sources: ["queue"],
        storeTimeouts: patient,
        log: () => {},
        onHandlerError: () => {},
        onParked: () => {},
        on: {
          "*": async (_, context) => {
            const { deliveryId: id, run } = context;
            const { chance, pick } = seeded(`1/${id}/${run}`);
            const fails = chance(0.2) ? pick(["before", "within", "after"]) : "";
            const fail = (when: string) => {
              if (fails === when) throw new Error(when);
            };
            fail("before");
            await client.store.transaction(context, async (tx) => {
              await client.queryIn(tx, insert, [id]);
              fail("within");
            });
            fail("after");
          },
        },
      }),
    );
    const ids = Array.from({ length: 300 }, (_, index) => `evt_${index}`);
    const waiting = [...ids, ...ids, ...ids];
    const acknowledged: string[] = [];
    const work = async () => {
      while (waiting.length > 0) {
        const [id = ""] = waiting.splice(between(0, waiting.length - 1), 1);
        const intake = intakes[between(0, 1)];
        const outcome = await intake?.accept({ source: "queue", id, body: { type: "paid" } });
        if (outcome?.status === 200) acknowledged.push(id);
        else waiting.push(id);
      }
    };
    await Promise.all(Array.from({ length: 16 }, work));
    expect(acknowledged.toSorted()).toEqual([...ids, ...ids, ...ids].toSorted());
    expect((await effects()).toSorted()).toEqual(ids.toSorted());
  });
});
