import { ConfigError } from "@svc-webhooks/core";
import { describe, expect, test } from "vitest";
import { durableObjectStore } from "../src/durable-object-store.js";

const namespace = { idFromName: () => 1, get: () => ({}) };

test.each<[unknown, unknown, string, string]>([
  [undefined, {}, "invalid_option", "namespace"],
  [null, {}, "invalid_option", "namespace"],
  [{}, {}, "invalid_option", "namespace"],
  [namespace, { shards: 0 }, "invalid_option", "shards"],
  [namespace, { shards: 1_025 }, "invalid_option", "shards"],
  [namespace, { shards: 1.5 }, "invalid_option", "shards"],
  [namespace, { shards: "4" }, "invalid_option", "shards"],
  [namespace, { shards: null }, "invalid_option", "shards"],
  [namespace, { shard: 4 }, "unknown_option", "shard"],
  [namespace, null, "invalid_option", "options"],
  [namespace, 4, "invalid_option", "options"],
])("rejects the namespace %j with the options %j", (binding, options, code, option) => {
  const build = () => durableObjectStore(binding as never, options as object);
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(expect.objectContaining({ code, option }) as Error);
});

test("accepts 1 to 1,024 shards, 16 by default", () => {
  for (const options of [undefined, {}, { shards: undefined }, { shards: 1 }, { shards: 1_024 }]) {
    expect(durableObjectStore(namespace as never, options).shared).toBe(true);
  }
});

describe("a peek", () => {
  const call = { signal: new AbortController().signal };
  const key = (shard: number, digit: string) => `0000000${shard}`.padEnd(32, digit);

  /** A store on two shards, the calls of each, and what they return. */
  function sharded(found: (keys: readonly string[]) => unknown) {
    const calls: [shard: unknown, keys: readonly string[]][] = [];
    const store = durableObjectStore<string>(
      {
        idFromName: (name) => name,
        get: (id) =>
          ({
            agreeOnShards: async () => 2,
            async peek(keys: readonly string[]) {
              calls.push([id, keys]);
              return found(keys);
            },
          }) as never,
      },
      { shards: 2 },
    );
    return { store, calls };
  }

  test("makes one call for each shard, with each key once", async () => {
    const { store, calls } = sharded((keys) =>
      keys.map((one) => (one.endsWith("a") ? "done" : undefined)),
    );
    const keys = [key(1, "a"), key(0, "b"), key(1, "b"), key(0, "a"), key(1, "a")];
    expect(await store.peek?.(keys, call)).toEqual(["done", undefined, undefined, "done", "done"]);
    expect(calls).toEqual([
      ["shard 1", [key(1, "a"), key(1, "b")]],
      ["shard 0", [key(0, "b"), key(0, "a")]],
    ]);
  });

  test("of a new namespace does not keep a later claim from setting it up", async () => {
    const proposed: unknown[] = [];
    const records = {
      agreeOnShards: async (given: unknown) => (proposed.push(given), given),
      peek: async () => [undefined],
      claim: async () => ({ status: "done" }),
    } as never;
    const namespaceOfOne = { idFromName: (name: string) => name, get: () => records };
    const store = durableObjectStore<string>(namespaceOfOne, { shards: 2 });
    await store.peek?.([key(0, "a")], call);
    await store.claim(key(0, "a"), { token: "a", leaseMs: 1, retainMs: 1 }, call);
    await store.peek?.([key(0, "a")], call);
    expect(proposed).toEqual([undefined, 2]);
  });

  test.each([[[]], [["done"]]])("rejects if a shard returns %j for two keys", async (found) => {
    const { store } = sharded(() => found);
    const peeked = store.peek?.([key(1, "a"), key(1, "b")], call);
    await expect(peeked).rejects.toThrow("Shard 1 left out states.");
  });
});
