import { until } from "@svc-webhooks/kit/until";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { signed } from "@svc-webhooks/kit/deliveries";
import { call, claimBy, observedReceiver } from "@svc-webhooks/kit/receivers";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import {
  clientKinds,
  type ClientOptions,
  type ServerClientKind,
} from "@svc-webhooks/kit/redis-clients";
import { describeWithRedis, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { redisStore } from "../src/index.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const rightsInReadme = /^ACL SETUSER webhooks on >secret (.+)$/m.exec(readme)?.[1] ?? "";

describeWithRedis("on a real server", () => {
  let server: RedisServer;
  let admin: Redis;
  oneRedis((client, its) => {
    admin = client;
    server = its;
  });
  beforeEach(async () => {
    await admin.script("FLUSH");
  });

  function make(kind: ServerClientKind, options?: ClientOptions) {
    const made = kind.make(server.port, options);
    onTestFinished(made.close);
    const store = redisStore(made.client);
    return { ...made, store, claim: async (key: string) => store.claim(key, claimBy("a"), call) };
  }

  async function connected(kind: ServerClientKind, options?: ClientOptions) {
    const made = make(kind, options);
    await made.connect();
    return made;
  }

  /** Returns a client whose user has only these rights. */
  async function restricted(kind: ServerClientKind, rights: string) {
    const user = { username: "least", password: "secret" };
    await admin.acl("SETUSER", "least", "reset", "on", ">secret", ...rights.split(" "));
    return connected(kind, { user });
  }

  /** Makes the server a read-only replica of a primary that does not exist, until the test ends. */
  async function demote() {
    onTestFinished(async () => void (await admin.replicaof("NO", "ONE")));
    await admin.replicaof("127.0.0.1", 1);
  }

  /** Counts the commands that the server runs during `work`, including those in scripts. */
  async function commandsOf(work: () => Promise<unknown>) {
    await admin.config("RESETSTAT");
    await work();
    const stats = await admin.info("commandstats");
    const counts = stats.matchAll(/^cmdstat_(?!config\|resetstat)(.+):calls=(\d+)/gm);
    return Object.fromEntries(Array.from(counts, ([, name, calls]) => [name, Number(calls)]));
  }

  describe.each(clientKinds)("with $name", (kind) => {
    test("a new event takes two round trips, a duplicate takes one", async () => {
      const { store } = await connected(kind);
      const { receiver, codes } = observedReceiver({ name: "billing", store });
      // After this delivery, the server has cached the scripts.
      await receiver.receive(await signed(undefined, { "x-svc-delivery-id": "dlv_0" }));

      const deliver = async () => receiver.receive(await signed());
      const claimAndComplete = { evalsha: 2, time: 2, get: 2, set: 2 };
      expect(await commandsOf(deliver)).toEqual(claimAndComplete);
      expect(await commandsOf(deliver)).toEqual({ evalsha: 1, time: 1, get: 1 });
      expect(codes()).toEqual(["processed", "processed", "duplicate"]);
    });

    test("a script that the server has forgotten is sent in full, once", async () => {
      const { claim } = await connected(kind);
      const known = { evalsha: 1, time: 1, get: 1, set: 1 };
      expect(await commandsOf(() => claim("1"))).toEqual({ ...known, eval: 1 });
      expect(await commandsOf(() => claim("2"))).toEqual(known);
      await admin.script("FLUSH");
      expect(await commandsOf(() => claim("3"))).toEqual({ ...known, eval: 1 });
      expect(await commandsOf(() => claim("4"))).toEqual(known);
    });

    test("calls are rejected while the client connects", async () => {
      const { claim, connect } = make(kind);
      const connecting = connect();
      await expect(claim("1")).rejects.toThrow(/^The Redis client is not connected/);
      await connecting;
      expect(await claim("1")).toMatchObject({ status: "claimed" });
    });

    test("calls are rejected once the client is closed, and a receiver responds 503 without a run", async () => {
      const { store, claim, close } = await connected(kind);
      close();
      const isClosed = /Connection is closed|The Redis client is not connected/;
      await expect(claim("1")).rejects.toThrow(isClosed);
      await expect(store.check()).rejects.toThrow(isClosed);
      const on = { "*": () => expect.unreachable() };
      const { receiver } = observedReceiver({ name: "billing", store, on });
      const outcome = await receiver.receive(await signed());
      expect(outcome).toMatchObject({ code: "store_unavailable", status: 503 });
    });

    test("a key prefix of the client precedes that of the store", async () => {
      const { store, claim } = await connected(kind, { keyPrefix: "app:" });
      await claim("1");
      expect(await admin.keys("*")).toEqual(["app:svc-webhooks:1"]);
      expect(await store.release("1", { ...claimBy("a"), to: "unused" }, call)).toBe(true);
    });

    test("the rights that the README lists are sufficient", async () => {
      const { store } = await restricted(kind, rightsInReadme);
      const claim = claimBy("a");
      expect(await store.claim("1", claim, call)).toMatchObject({ status: "claimed", run: 1 });
      expect(await store.extend("1", claim, call)).toBe(true);
      expect(await store.release("1", { ...claim, to: "failed" }, call)).toBe(true);
      expect(await store.claim("1", claim, call)).toMatchObject({ status: "claimed", run: 2 });
      expect(await store.complete("1", claim, call)).toBe("owner");
      expect(await store.complete("1", claim, call)).toBe("already");
      expect(await store.forget("1", call)).toBe(true);
      expect(await store.check()).not.toContainEqual(expect.stringContaining("NOPERM"));
    });

    test("a client reconnects when a replica rejects writes, at most once in 5 s, and works after a promotion", async () => {
      let now = performance.now();
      vi.spyOn(performance, "now").mockImplementation(() => now);
      onTestFinished(() => void vi.restoreAllMocks());
      const { store, client } = await connected(kind);
      // Another store uses the same client.
      const other = redisStore(client, { prefix: "other:" });
      const rejection = async (by = store) => {
        const claim = async () => by.claim("1", claimBy("a"), call);
        return String(await claim().catch((error: unknown) => error));
      };
      const connections = async () =>
        Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
      const isRejected = async () => (await rejection()).includes("READONLY");
      await demote();

      let before = await connections();
      for (const waitMs of [0, 5_000]) {
        now += waitMs;
        await until(isRejected, "the replica rejects writes");
        // This waits for the new connection.
        await until(async () => (await connections()) === before + 1, "the client reconnects");
        before += 1;
        await until(isRejected, "the replica rejects writes");
        now += 4_999;
        for (let index = 0; index < 20; index += 1) {
          expect(await rejection(index % 2 === 0 ? store : other)).toContain("READONLY");
        }
        expect(await connections()).toBe(before);
        now -= 4_999;
      }
      await admin.replicaof("NO", "ONE");
      expect(await store.claim("1", claimBy("a"), call)).toMatchObject({ status: "claimed" });
    });

    describe("check()", () => {
      const durable = { "maxmemory-policy": "noeviction", appendonly: "yes", save: "" };
      const configure = (settings: object = {}) =>
        Promise.all(
          Object.entries({ ...durable, ...settings }).map(([name, value]) =>
            admin.config("SET", name, value),
          ),
        );

      test.each([
        ["nothing about a server that appends", {}, []],
        ["nothing about a server that saves", { appendonly: "no", save: "3600 1" }, []],
        [
          "an eviction policy that would drop records",
          { "maxmemory-policy": "allkeys-lru" },
          ["maxmemory-policy is allkeys-lru, so records may be evicted. Set it to noeviction."],
        ],
        [
          "that nothing is persisted",
          { appendonly: "no" },
          ["Nothing is persisted, so a restart loses all records. Set appendonly to yes."],
        ],
      ])("reports %s", async (_what, settings, problems) => {
        await configure(settings);
        const { store } = await connected(kind);
        expect(await store.check()).toEqual(problems);
      });

      test("reports a replica", async () => {
        await configure();
        await demote();
        const { store } = await connected(kind);
        expect(await store.check()).toEqual([
          "This server is a replica and rejects writes, so no new delivery can be recorded. Connect to the primary through an address that follows failovers.",
        ]);
      });

      test("reports that CONFIG is forbidden", async () => {
        const { store } = await restricted(kind, "~* +@all -config");
        expect(await store.check()).toEqual([
          expect.stringMatching(
            /^The eviction and persistence settings could not be checked: NOPERM.+ The README of .+ lists the required ACL\.$/,
          ),
        ]);
      });

      test.each(["~* +ping +info", "~* +info +eval +evalsha", "~* +info +eval +evalsha +time"])(
        "reports that the rights %s are not sufficient",
        async (rights) => {
          const { store } = await restricted(kind, rights);
          expect(await store.check()).toEqual([
            expect.stringMatching(
              /^The user lacks permissions, .+ The README of .+ lists the required ACL\.$/,
            ),
          ]);
        },
      );
    });
  });

  test.each(clientKinds.filter(({ name }) => name.startsWith("ioredis")))(
    "with $name and lazyConnect the first call connects the client, and calls in the meantime are rejected",
    async (kind) => {
      const { claim } = make(kind);
      const first = claim("1");
      await expect(claim("2")).rejects.toThrow("The Redis client is not connected (connecting).");
      expect(await first).toMatchObject({ status: "claimed" });
      expect(await claim("2")).toMatchObject({ status: "claimed" });
    },
  );
});
