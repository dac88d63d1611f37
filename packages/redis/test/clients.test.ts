import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { signed } from "@svc-webhooks/kit/deliveries";
import { call, claimBy, observedReceiver } from "@svc-webhooks/kit/receivers";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { describeWithRedis, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { redisStore } from "../src/index.js";
import { clientKinds, type ClientKind, type ClientOptions } from "./redis-clients.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const rightsInReadme = /^ACL SETUSER webhooks on >secret (?<rights>.+)$/m.exec(readme)?.groups;

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

  function make(kind: ClientKind, options?: ClientOptions) {
    const made = kind.make(server.port, options);
    onTestFinished(made.close);
    return { ...made, store: redisStore(made.client) };
  }

  async function connected(kind: ClientKind, options?: ClientOptions) {
    const made = make(kind, options);
    await made.connect();
    return made;
  }

  /** Counts the commands that the server runs during `work`, including those in scripts. */
  async function commandsOf(work: () => Promise<unknown>) {
    await admin.config("RESETSTAT");
    await work();
    const stats = await admin.info("commandstats");
    return Object.fromEntries(
      Array.from(stats.matchAll(/^cmdstat_(.+):calls=(\d+)/gm), ([, name, calls]) => [
        name,
        Number(calls),
      ]).filter(([name]) => name !== "config|resetstat"),
    );
  }

  describe.each(clientKinds)("with $name", (kind) => {
    test("a new event takes two round trips, a duplicate takes one", async () => {
      const { store } = await connected(kind);
      const { receiver, codes } = observedReceiver({ name: "billing", store });
      // After this delivery the server knows the scripts.
      await receiver.receive(await signed(undefined, { "x-svc-delivery-id": "dlv_0" }));

      const deliver = async () => receiver.receive(await signed());
      const claimAndComplete = { evalsha: 2, time: 2, get: 2, set: 2 };
      expect(await commandsOf(deliver)).toEqual(claimAndComplete);
      expect(await commandsOf(deliver)).toEqual({ evalsha: 1, time: 1, get: 1 });
      expect(codes()).toEqual(["processed", "processed", "duplicate"]);
    });

    test("a script that the server has forgotten is sent in full, once", async () => {
      const { store } = await connected(kind);
      const claim = (key: string) => commandsOf(async () => store.claim(key, claimBy("a"), call));
      const inside = { time: 1, get: 1, set: 1 };
      expect(await claim("1")).toEqual({ evalsha: 1, eval: 1, ...inside });
      expect(await claim("2")).toEqual({ evalsha: 1, ...inside });
      await admin.script("FLUSH");
      expect(await claim("3")).toEqual({ evalsha: 1, eval: 1, ...inside });
      expect(await claim("4")).toEqual({ evalsha: 1, ...inside });
    });

    test("calls are rejected while the client connects", async () => {
      const { store, connect } = make(kind);
      const connecting = connect();
      await expect(store.claim("1", claimBy("a"), call)).rejects.toThrow(
        /^The Redis client is not connected/,
      );
      await connecting;
      expect(await store.claim("1", claimBy("a"), call)).toMatchObject({ status: "claimed" });
    });

    test("calls are rejected once the client is closed", async () => {
      const { store, close } = await connected(kind);
      close();
      const isClosed = /Connection is closed|The Redis client is not connected/;
      await expect(store.claim("1", claimBy("a"), call)).rejects.toThrow(isClosed);
      await expect(store.check?.(call)).rejects.toThrow(isClosed);
    });

    test("a receiver whose client is not connected responds 503 and runs no handler", async () => {
      const { store, close } = await connected(kind);
      close();
      const { receiver } = observedReceiver({
        name: "billing",
        store,
        on: { "*": () => expect.unreachable() },
      });
      expect(await receiver.receive(await signed())).toMatchObject({
        code: "store_unavailable",
        status: 503,
      });
    });

    test("a key prefix of the client precedes that of the store", async () => {
      const { store } = await connected(kind, { keyPrefix: "app:" });
      await store.claim("1", claimBy("a"), call);
      expect(await admin.keys("*")).toEqual(["app:svc-webhooks:1"]);
      expect(await store.release("1", { ...claimBy("a"), to: "unused" }, call)).toBe(true);
    });

    test("the rights that the README lists are sufficient", async () => {
      const user = { username: "least", password: "secret" };
      const rights = rightsInReadme?.["rights"]?.split(" ") ?? [];
      await admin.acl("SETUSER", user.username, "reset", "on", `>${user.password}`, ...rights);
      const { store } = await connected(kind, { user });
      const claim = claimBy("a");
      expect(await store.claim("1", claim, call)).toMatchObject({ status: "claimed", run: 1 });
      expect(await store.extend("1", claim, call)).toBe(true);
      expect(await store.release("1", { ...claim, to: "failed" }, call)).toBe(true);
      expect(await store.claim("1", claim, call)).toMatchObject({ status: "claimed", run: 2 });
      expect(await store.complete("1", claim, call)).toBe("owner");
      expect(await store.complete("1", claim, call)).toBe("already");
      expect(await store.forget("1", call)).toBe(true);
      expect(await store.check?.(call)).not.toContainEqual(expect.stringContaining("NOPERM"));
    });

    test("a client reconnects when a replica rejects writes, at most once in 5 s, and works after a promotion", async () => {
      let now = performance.now();
      vi.spyOn(performance, "now").mockImplementation(() => now);
      onTestFinished(() => void vi.restoreAllMocks());
      onTestFinished(async () => void (await admin.replicaof("NO", "ONE")));
      const { store, client } = await connected(kind);
      // Another store with the same client.
      const other = redisStore(client, { prefix: "other:" });
      const rejection = async (by = store) => {
        const claim = async () => by.claim("1", claimBy("a"), call);
        return String(await claim().catch((error: unknown) => error));
      };
      const connections = async () =>
        Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
      const isRejected = async () => (await rejection()).includes("READONLY");
      // The primary does not exist, so this server stays a read-only replica.
      await admin.replicaof("127.0.0.1", 1);

      let before = await connections();
      for (const waitMs of [0, 5_000]) {
        now += waitMs;
        await vi.waitUntil(isRejected);
        // Waits for the new connection.
        await vi.waitUntil(async () => (await connections()) === before + 1);
        before += 1;
        await vi.waitUntil(isRejected);
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
      const settings = (...pairs: readonly (readonly [string, string])[]) =>
        Promise.all(pairs.map(([name, value]) => admin.config("SET", name, value)));

      test("resolves to an empty list for a server that evicts nothing and persists", async () => {
        await settings(["maxmemory-policy", "noeviction"], ["appendonly", "yes"]);
        const { store } = await connected(kind);
        expect(await store.check?.(call)).toEqual([]);
        await settings(["appendonly", "no"], ["save", "3600 1"]);
        expect(await store.check?.(call)).toEqual([]);
      });

      test("reports an eviction policy that would drop records", async () => {
        await settings(["maxmemory-policy", "allkeys-lru"], ["appendonly", "yes"]);
        const { store } = await connected(kind);
        expect(await store.check?.(call)).toEqual([
          "maxmemory-policy is allkeys-lru, so records may be evicted. Set it to noeviction.",
        ]);
      });

      test("reports that nothing is persisted", async () => {
        await settings(["maxmemory-policy", "noeviction"], ["appendonly", "no"], ["save", ""]);
        const { store } = await connected(kind);
        expect(await store.check?.(call)).toEqual([
          "Nothing is persisted, so a restart loses all records. Set appendonly to yes.",
        ]);
      });

      test("reports a replica", async () => {
        await settings(["maxmemory-policy", "noeviction"], ["appendonly", "yes"]);
        onTestFinished(async () => void (await admin.replicaof("NO", "ONE")));
        await admin.replicaof("127.0.0.1", 1);
        const { store } = await connected(kind);
        expect(await store.check?.(call)).toEqual([
          "This server is a replica and rejects writes, so every new delivery gets 503. Connect to the primary, at an address that follows it.",
        ]);
      });

      test("reports that CONFIG is forbidden", async () => {
        const user = { username: "blind", password: "secret" };
        const rights = ["~*", "+@all", "-config"];
        await admin.acl("SETUSER", user.username, "reset", "on", `>${user.password}`, ...rights);
        const { store } = await connected(kind, { user });
        expect(await store.check?.(call)).toEqual([
          expect.stringMatching(/^Eviction and persistence could not be checked: NOPERM/),
        ]);
      });
    });
  });

  describe.each(clientKinds.filter(({ name }) => name.startsWith("ioredis")))(
    "with $name and lazyConnect",
    (kind) => {
      test("the first call connects the client, and calls in the meantime are rejected", async () => {
        const { store } = make(kind);
        const first = store.claim("1", claimBy("a"), call);
        await expect(store.claim("2", claimBy("b"), call)).rejects.toThrow(
          "The Redis client is not connected (connecting).",
        );
        expect(await first).toMatchObject({ status: "claimed" });
        expect(await store.claim("2", claimBy("b"), call)).toMatchObject({ status: "claimed" });
      });
    },
  );
});
