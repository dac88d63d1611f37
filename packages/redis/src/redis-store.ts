import type { ClaimRequest, CompleteResult, DeliveryStore, StoreCall } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { readClaim, readStates } from "@svc-webhooks/core/store-rules";
import { checkServer } from "./health/check.js";
import { connect, type RedisClient } from "./connect.js";
import type { Connection } from "./connection.js";
import { messageOf } from "./health/replica.js";
import * as scripts from "./scripts.js";

export interface RedisStoreOptions {
  /** The prefix of the store's keys. Default `"svc-webhooks:"`. Errors: `invalid_option`. */
  readonly prefix?: string | undefined;
}

/** The store that {@link redisStore} returns. */
export interface RedisStore extends DeliveryStore {
  /**
   * Resolves to one text for each condition that endangers records: a replica, missing permissions, clock drift,
   * eviction, no persistence, or settings that cannot be read. In a cluster, only one node is checked. Rejects if Redis
   * is unreachable.
   *
   * @param call passed to your own `Connection`; clients of ioredis and node-redis do not use it. Default: a signal
   *   that is aborted after 5 s
   */
  check(call?: StoreCall): Promise<readonly string[]>;
}

/**
 * Keeps records in Redis 6.2 or newer, shared by all processes that use the same server or cluster and the same
 * `prefix`. Each record has one key, and each call that changes it runs one script, which uses the server's clock. You
 * own the client: connect it, listen for its errors and close it.
 *
 * While the client is not connected, calls reject immediately, even if the client has an offline queue. If a claim is
 * rejected, the outcome is `store_unavailable` (503), and the sender retries; `onStoreError` can change that. With
 * ioredis, two kinds of calls wait for the connection: the first call with `lazyConnect`, which connects the client,
 * and a call for a record for which another call is pending.
 *
 * @param client a client of ioredis 5 or 6 (`Redis`, `Cluster`) or node-redis 5 or 6 (client, cluster, Sentinel), or
 *   your own `Connection` to a server that runs Lua scripts
 * @throws ConfigError `invalid_option` if `client` is none of these, such as the result of its `multi()`, or `prefix`
 *   is not a string; `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { redisStore } from "svc-webhooks/redis";
 * import { Redis } from "ioredis";
 *
 * const redis = new Redis({ lazyConnect: true });
 * redis.on("error", (error) => console.error("Redis:", error.message));
 *
 * export const receiver = createReceiver({
 *   name: "billing",
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   store: redisStore(redis),
 *   on: { "*": (event) => console.log(event.type) },
 * });
 * ```
 */
export function redisStore(
  client: RedisClient | Connection,
  options: RedisStoreOptions = {},
): RedisStore {
  assertOptions(options, ["prefix"]);
  const { prefix = "svc-webhooks:" } = options;
  assertValid(typeof prefix === "string", "prefix", "`prefix` must be a string.");
  const connection = connect(client);
  /** Whether a `peek` has failed because one script cannot read keys in different slots of a cluster. */
  let hasSlots = false;
  const run = (
    script: scripts.Script,
    key: string,
    call: StoreCall,
    args: readonly string[] = [],
  ) => connection.run(script, [`${prefix}${key}`], args, call);
  return {
    shared: true,
    async claim(key, request, call) {
      const args = [...times(request), ...(request.takeParked ? ["1"] : [])];
      return readClaim(String(await run(scripts.claim, key, call, args)), unexpected);
    },
    complete: async (key, request, call) =>
      // The cast is safe, because the script returns only values of `CompleteResult`.
      String(await run(scripts.complete, key, call, withLineage(request))) as CompleteResult,
    async release(key, request, call) {
      const args = [...withLineage(request), request.to];
      return Number(await run(scripts.release, key, call, args)) === 1;
    },
    extend: async (key, request, call) =>
      Number(await run(scripts.extend, key, call, times(request))) === 1,
    forget: async (key, call) => Number(await run(scripts.forget, key, call)) === 1,
    async peek(keys, call) {
      const read = (some: readonly string[]) =>
        connection.run(
          scripts.peek,
          some.map((key) => `${prefix}${key}`),
          [],
          call,
        );
      // The calls do not wait for each other's replies, so the client sends them as one pipeline per node.
      const readEach = async () => (await Promise.all(keys.map((key) => read([key])))).join("");
      const readAll = () =>
        read(keys).catch((error: unknown) => {
          if (!messageOf(error).includes("CROSSSLOT")) throw error;
          hasSlots = true;
          return readEach();
        });
      const reply = await (hasSlots ? readEach() : readAll());
      return readStates(String(reply), keys.length, unexpected);
    },
    check: (call = { signal: AbortSignal.timeout(5_000) }) =>
      checkServer(connection, `${prefix}check`, call),
  };
}

// Each argument costs time in the client, so `lineage` and `to` are sent only to scripts that use them.
const times = ({ token, leaseMs, retainMs }: ClaimRequest) => [
  token,
  String(leaseMs),
  String(retainMs),
];
const withLineage = ({ lineage = "", ...request }: ClaimRequest) => [...times(request), lineage];

const unexpected = (call: string, reply: string) =>
  new Error(`Redis returned an unexpected reply to ${call}: ${JSON.stringify(reply.slice(0, 50))}`);
