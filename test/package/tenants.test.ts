import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { createConnection, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import {
  createReceiver,
  memoryStore,
  serializeDelivery,
  parseDelivery,
  PermanentError,
  type DeliveryStore,
  type Receiver,
  type StoredDelivery,
} from "@svc-webhooks/core";
import { defineInbox, type InboxJob, type Verdict } from "@svc-webhooks/core/inbox";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { present } from "@svc-webhooks/kit/present";
import { listen } from "@svc-webhooks/kit/servers";
import { sized } from "@svc-webhooks/kit/sized";
import { openSqlite } from "@svc-webhooks/kit/sqlite";
import { until } from "@svc-webhooks/kit/until";
import { migrate, postgresStore } from "@svc-webhooks/postgres";
import { redisStore } from "@svc-webhooks/redis";
import { migrate as migrateSqlite, sqliteStore } from "@svc-webhooks/sqlite";
import { signedDelivery } from "@svc-webhooks/testing";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Redis } from "ioredis";
import { Pool } from "pg";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { cloud, type Cloud } from "../../packages/cloudflare/test/support.js";
import { codeBlocks, compileBlocks } from "./readme.js";

interface Tenants {
  readonly size: number;
  readonly withReceiver: <Result>(
    name: string,
    use: (receiver: Receiver) => Promise<Result>,
  ) => Promise<Result | undefined>;
  readonly drain: (deadlineMs: number) => Promise<void>;
}

interface Options {
  readonly find: (name: string) => Promise<{ readonly secrets: readonly string[] } | undefined>;
  readonly store: DeliveryStore;
  readonly handle: (tenant: string, type: string, idempotencyKey: string) => Promise<void>;
  readonly mostReceivers?: number;
  readonly maxAgeMs?: number;
  readonly now?: () => number;
}

/** The module that the page shows. */
interface Page {
  readonly createTenants: (options: Options) => Tenants;
  readonly serve: (tenants: Tenants) => Parameters<typeof listen>[0];
  readonly forget: (tenants: Tenants, name: string, id: string) => Promise<boolean | undefined>;
  readonly resume: (
    tenants: Tenants,
    name: string,
    delivery: StoredDelivery,
  ) => Promise<{ readonly code: string } | undefined>;
  readonly work: (
    tenants: Tenants,
    job: { readonly tenant: string; readonly job: InboxJob },
  ) => Promise<Verdict>;
}

const blocks = codeBlocks("docs/tenants.md");
const { modulePath } = await compileBlocks(blocks);
const page = (await import(pathToFileURL(modulePath(present(blocks[0]))).href)) as Page;
const { createTenants, serve } = page;

const secretOf = (tenant: string) => `whsec_${tenant}`;

/** Tenants on a server, with the names that were looked up and the events that were handled. */
async function served(options: Partial<Options> = {}) {
  const found: string[] = [];
  const handled: string[] = [];
  const tenants = createTenants({
    async find(name) {
      found.push(name);
      return name.startsWith("tenant-") ? { secrets: [secretOf(name)] } : undefined;
    },
    store: memoryStore(),
    async handle(tenant, type) {
      handled.push(`${tenant} ${type}`);
    },
    ...options,
  });
  const sockets = new Set<Socket>();
  const listener = serve(tenants);
  const port = await listen(
    (incoming, response) => {
      sockets.add(incoming.socket);
      listener(incoming, response);
    },
    // A busy machine may pause for longer than the default of 5 s.
    { keepAliveTimeout: 600_000 },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  onTestFinished(() => agent.destroy());

  /** Sends a delivery to a path, and resolves with the status. */
  async function send(
    path: string,
    { id = "dlv_1", secret = "whsec_test", type = "email.sent" } = {},
  ) {
    const { headers, body } = await signedDelivery({ type }, { deliveryId: id, secret });
    const sent = request({ port, path, method: "POST", agent, headers });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    await text(response);
    return response.statusCode;
  }
  /** Sends a delivery to a tenant, signed with its secret. */
  const deliver = (tenant: string, id?: string, type?: string) =>
    send(`/webhooks/${tenant}`, {
      ...(id && { id }),
      ...(type && { type }),
      secret: secretOf(tenant),
    });
  return { tenants, port, sockets, found, handled, send, deliver };
}

/** A connection that sends one delivery at a time. It is cheaper than a client for HTTP. */
async function connect(port: number) {
  const socket = createConnection(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return {
    async deliver(tenant: string): Promise<number> {
      const { headers, body } = await signedDelivery(
        { type: "email.sent" },
        { deliveryId: "dlv_1", secret: secretOf(tenant) },
      );
      const lines = Object.entries({ ...headers, host: "app.test", "content-length": body.length });
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      socket.write(`POST /webhooks/${tenant} HTTP/1.1\r\n${head}\r\n`);
      socket.write(body);
      let response = "";
      for (;;) {
        response += String(((await once(socket, "data")) as [Buffer])[0]);
        const [, status, length = ""] =
          /^HTTP\/1\.1 (\d+)[^]*?content-length: (\d+)/i.exec(response) ?? [];
        const end = response.indexOf("\r\n\r\n") + 4;
        if (end >= 4 && response.length === end + Number(length)) return Number(status);
      }
    },
  };
}

describe("receivers of tenants", () => {
  test("thousands of tenants are served with a cache of 100 receivers", async () => {
    const count = sized(2_000, 10_000);
    const opened = await served({ mostReceivers: 100 });
    const names = Array.from({ length: count }, (_, n) => `tenant-${n}`);
    const waiting = names.values();
    let most = 0;
    const sendAll = async () => {
      const client = await connect(opened.port);
      for (const name of waiting) {
        expect(await client.deliver(name)).toBe(200);
        most = Math.max(most, opened.tenants.size);
      }
    };
    await Promise.all(Array.from({ length: 16 }, sendAll));
    // One more for each request that is being served.
    expect(most).toBeLessThanOrEqual(116);
    expect(opened.tenants.size).toBe(100);
    expect([opened.found.length, new Set(opened.found).size]).toEqual([count, count]);
    expect(new Set(opened.handled).size).toBe(count);

    // The newest are still there. The oldest is looked up again, and its copy is a duplicate.
    expect(await opened.deliver(`tenant-${count - 1}`)).toBe(200);
    expect(opened.found).toHaveLength(count);
    expect(await opened.deliver("tenant-0")).toBe(200);
    expect(opened.found.slice(count)).toEqual(["tenant-0"]);
    expect([opened.handled.length, opened.tenants.size]).toEqual([count, 100]);
  });

  test("an unknown name costs one look-up, and an impossible one none; neither is kept", async () => {
    const opened = await served({ mostReceivers: 1 });
    await opened.deliver("tenant-1");
    for (const path of ["globex", "globex", "x".repeat(64), "%00", "Tenant-1", "__proto__", "-"])
      expect(await opened.send(`/webhooks/${path}`)).toBe(404);
    for (const path of ["/", "/webhooks", "/webhooks/", "/webhooks/tenant-1/x", "/tenant-1"])
      expect(await opened.send(path)).toBe(404);
    expect(opened.found).toEqual(["tenant-1", "globex", "globex"]);
    const secret = secretOf("tenant-1");
    for (const query of ["?x=1", "?", "?x=/y?z"])
      expect(await opened.send(`/webhooks/tenant-1${query}`, { secret })).toBe(200);
    expect(await opened.deliver("tenant-1", "dlv_2")).toBe(200);
    expect([opened.found.length, opened.tenants.size]).toEqual([3, 1]);
  });

  test("simultaneous requests share a look-up", async () => {
    const resume: (() => void)[] = [];
    let lookups = 0;
    const opened = await served({
      find: async (name) => {
        lookups += 1;
        await new Promise<void>((resolve) => resume.push(resolve));
        return { secrets: [secretOf(name)] };
      },
    });
    const sent = Promise.all(
      ["dlv_1", "dlv_2", "dlv_3"].map((id) => opened.deliver("tenant-1", id)),
    );
    await until(() => opened.sockets.size === 3, "all requests have arrived");
    for (const found of resume) found();
    expect([await sent, lookups]).toEqual([[200, 200, 200], 1]);
  });

  test("an unknown tenant with a slow body of 1 MiB gets 404 before the body is read", async () => {
    const opened = await served();
    const slow = request({
      port: opened.port,
      path: "/webhooks/globex",
      method: "POST",
      headers: { "content-length": 1_048_576 },
    });
    slow.on("error", () => {});
    slow.write("x".repeat(1_024));
    const [response] = (await once(slow, "response")) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([404, "close"]);
    const socket = present(Array.from(opened.sockets)[0]);
    await until(() => socket.destroyed, "the connection is closed");
    expect(socket.bytesRead).toBeLessThan(2_048);
  });

  test("a receiver that is in use stays, and shutdown waits for handlers that run", async () => {
    let finish: (() => void) | undefined;
    const opened = await served({
      mostReceivers: 1,
      handle: async (_tenant, type) => {
        if (type === "slow") await new Promise<void>((resolve) => (finish = resolve));
      },
    });
    const running = opened.deliver("tenant-1", "dlv_1", "slow");
    await until(() => finish !== undefined, "the handler runs");
    const { headers, body } = await signedDelivery(
      { type: "email.sent" },
      { secret: secretOf("tenant-1") },
    );
    const late = request({
      port: opened.port,
      path: "/webhooks/tenant-1",
      method: "POST",
      headers: { ...headers, "content-length": body.length },
    });
    late.write(body.subarray(0, 5));
    await until(() => opened.sockets.size === 2, "the second request has arrived");
    for (const tenant of ["tenant-2", "tenant-3"]) await opened.deliver(tenant);
    expect(opened.tenants.size).toBe(1);
    // A receiver that had left the cache would refuse it as `draining`.
    late.end(body.subarray(5));
    const [response] = (await once(late, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);

    let isDrained = false;
    const drained = opened.tenants.drain(60_000).then(() => (isDrained = true));
    await opened.send("/webhooks/globex");
    expect(isDrained).toBe(false);
    present(finish)();
    expect(await running).toBe(200);
    await drained;
  });

  test("shutdown waits for a handler whose receiver has left the cache", async () => {
    let finish: (() => void) | undefined;
    const opened = await served({
      mostReceivers: 1,
      handle: async (tenant) => {
        if (tenant === "tenant-1") await new Promise<void>((resolve) => (finish = resolve));
      },
    });
    const delivery = await signedDelivery({ type: "email.sent" }, { secret: secretOf("tenant-1") });
    // As after handlerTimeoutMs, the handler outlives its response.
    await opened.tenants.withReceiver("tenant-1", async (receiver) => {
      void receiver.receive(delivery);
      await until(() => finish !== undefined, "the handler runs");
    });
    await opened.deliver("tenant-2");
    expect(opened.tenants.size).toBe(1);
    let isDrained = false;
    const drained = opened.tenants.drain(60_000).then(() => (isDrained = true));
    await opened.send("/webhooks/globex");
    expect(isDrained).toBe(false);
    present(finish)();
    await drained;
  });

  test("replaced secrets and removed tenants are noticed after maxAgeMs", async () => {
    const known = new Map([["tenant-1", { secrets: ["whsec_old"] }]]);
    let time = 0;
    let isDown = false;
    vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => void vi.restoreAllMocks());
    const opened = await served({
      now: () => time,
      maxAgeMs: 1_000,
      find: async (name) => {
        if (isDown) throw new Error("unreachable");
        return known.get(name);
      },
    });
    const send = (secret: string) => opened.send("/webhooks/tenant-1", { secret });
    expect(await send("whsec_old")).toBe(200);
    known.set("tenant-1", { secrets: ["whsec_new", "whsec_old"] });
    time = 999;
    expect(await send("whsec_new")).toBe(401);
    time = 1_000;
    expect([await send("whsec_new"), await send("whsec_old")]).toEqual([200, 200]);
    known.delete("tenant-1");
    time = 3_000;
    isDown = true;
    expect(await send("whsec_new")).toBe(200);
    expect(await opened.send("/webhooks/tenant-2")).toBe(503);
    isDown = false;
    expect([await send("whsec_new"), opened.tenants.size]).toEqual([404, 0]);
  });

  test("forget, resume and a worker pick the receiver of the tenant", async () => {
    let isBroken = true;
    const handled: string[] = [];
    const opened = await served({
      async handle(tenant) {
        if (isBroken) throw new PermanentError("no such customer");
        handled.push(tenant);
      },
    });
    vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => void vi.restoreAllMocks());
    const { tenants } = opened;
    const delivery = await signedDelivery({ type: "email.sent" }, { deliveryId: "dlv_1" });
    const stored = parseDelivery(serializeDelivery(delivery));
    await opened.deliver("tenant-1");
    isBroken = false;
    expect(await page.resume(tenants, "tenant-1", stored)).toMatchObject({ code: "processed" });
    expect(await page.resume(tenants, "tenant-1", stored)).toMatchObject({ code: "duplicate" });
    expect(await page.resume(tenants, "globex", stored)).toBeUndefined();
    expect(await page.forget(tenants, "tenant-2", "dlv_1")).toBe(false);
    expect(await page.forget(tenants, "tenant-1", "dlv_1")).toBe(true);
    expect(await page.forget(tenants, "globex", "dlv_1")).toBeUndefined();
    expect(handled).toEqual(["tenant-1"]);

    const jobs: InboxJob[] = [];
    const inbox = defineInbox(async (job) => void jobs.push(job));
    await createReceiver({
      name: "tenant-1",
      secret: "whsec_test",
      store: memoryStore(),
      on: { "*": inbox() },
    }).receive(delivery);
    const job = present(jobs[0]);
    expect(await page.work(tenants, { tenant: "tenant-2", job })).toMatchObject({ action: "dead" });
    expect(await page.work(tenants, { tenant: "globex", job })).toMatchObject({ action: "dead" });
    expect(handled).toEqual(["tenant-1"]);
    expect(await page.work(tenants, { tenant: "tenant-1", job })).toMatchObject({ action: "done" });
    expect(handled).toEqual(["tenant-1", "tenant-1"]);
  });
});

/** Registers the test of forged ids on a store. `count` returns the number of records. */
function forgedIds(store: () => DeliveryStore, count?: () => Promise<number>): void {
  test("a tenant's forged ids never touch the records of another tenant", async () => {
    const opened = await served({ store: store() });
    const victims = ["tenant-b", "tenant-b-c"];
    const ids = ["dlv_1", "dlv_2", "-c", "-c:dlv_1", "8:tenant-b:dlv_1", "tenant-b/dlv_1"];
    for (const victim of victims) expect(await opened.deliver(victim, "dlv_1")).toBe(200);
    for (const id of ids) expect(await opened.deliver("tenant-a", id)).toBe(200);
    if (count) expect(await count()).toBe(victims.length + ids.length);
    // The secret of the other tenant signs nothing for this one.
    for (const victim of victims)
      expect(await opened.send(`/webhooks/${victim}`, { secret: secretOf("tenant-a") })).toBe(401);
    for (const id of ids) await page.forget(opened.tenants, "tenant-a", id);
    if (count) expect(await count()).toBe(victims.length);

    const before = opened.handled.length;
    for (const victim of victims) {
      // The record of the handled delivery is still there, and no id is used up.
      expect(await opened.deliver(victim, "dlv_1")).toBe(200);
      expect(await opened.deliver(victim, "dlv_2")).toBe(200);
    }
    expect(opened.handled.slice(before)).toEqual(victims.map((victim) => `${victim} email.sent`));
  });
}

describe("in memory", () => {
  forgedIds(memoryStore);
});

describe("on SQLite", () => {
  let db: DatabaseSyncInstance;
  forgedIds(
    () => {
      db = openSqlite();
      migrateSqlite(db);
      return sqliteStore(db);
    },
    async () => db.prepare("select key from svc_webhooks_deliveries").all().length,
  );
});

describe("on Durable Objects", () => {
  let objects: Cloud;
  beforeAll(async () => {
    objects = await cloud();
  });
  afterAll(() => objects.close());
  forgedIds(
    () => objects.store,
    async () =>
      ((await objects.control("count")) as readonly number[]).reduce((all, one) => all + one),
  );
});

describeWithRedis("on Redis", () => {
  let client: Redis;
  oneRedis((redis) => (client = redis));
  forgedIds(
    () => redisStore(client),
    () => client.dbsize(),
  );
});

describeWithPostgres("on PostgreSQL", () => {
  let pool: Pool;
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const server = await postgresServer();
    pool = new Pool({ connectionString: server.connectionString });
    close = async () => {
      await pool.end();
      await server.close();
    };
    await migrate(pool);
  });
  beforeEach(() => pool.query("truncate svc_webhooks.deliveries"));
  afterAll(() => close?.());
  forgedIds(
    () => postgresStore(pool),
    async () => (await pool.query("select from svc_webhooks.deliveries")).rowCount ?? 0,
  );
});
