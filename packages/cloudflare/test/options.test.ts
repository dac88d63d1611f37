import { ReceiverConfigError } from "@svc-webhooks/core";
import { expect, test } from "vitest";
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
  expect(build).toThrow(ReceiverConfigError);
  expect(build).toThrow(expect.objectContaining({ code, option }) as Error);
});

test("accepts 1 to 1,024 shards, 16 by default", () => {
  for (const options of [undefined, {}, { shards: undefined }, { shards: 1 }, { shards: 1_024 }]) {
    expect(durableObjectStore(namespace as never, options).shared).toBe(true);
  }
});
