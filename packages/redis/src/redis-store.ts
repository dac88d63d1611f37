import {
  assertOptions,
  ReceiverConfigError,
  type ClaimRequest,
  type ClaimResult,
  type CompleteResult,
  type DeliveryStore,
} from "@svc-webhooks/core";
import { checkServer } from "./check.js";
import { connect, type Connection, type RedisClient } from "./connection.js";
import * as scripts from "./scripts.js";

export interface RedisStoreOptions {
  /** Prefix of the store's keys. Default `"svc-webhooks:"`. Errors: `invalid_option`. */
  readonly prefix?: string | undefined;
}

/**
 * Keeps records on Redis 6.2 or newer, shared by all processes that use the same server or cluster.
 * One key per delivery, one script per call, timed by the server's clock. You own the client: connect
 * it, listen for its errors and close it.
 *
 * While the client is not connected, every call rejects immediately, regardless of the client's offline
 * queue: the outcome is `store_unavailable` (503), and the sender retries.
 *
 * @param client of ioredis 5 or 6 (`Redis`, `Cluster`) or node-redis 5 or 6 (client, cluster),
 *   or your own `Connection` to a server that runs Lua scripts
 * @throws ReceiverConfigError `invalid_option` if `client` is none of these, or `prefix` is not a
 *   string; `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "@svc-webhooks/core";
 * import { redisStore } from "@svc-webhooks/redis";
 * import { Redis } from "ioredis";
 *
 * const redis = new Redis({ lazyConnect: true });
 * redis.on("error", (error) => console.error("Redis:", error.message));
 *
 * export const receiver = createReceiver({
 *   name: "billing",
 *   secret: "whsec_…",
 *   store: redisStore(redis),
 *   on: { "*": (event) => console.log(event.type) },
 * });
 * ```
 */
export function redisStore(
  client: RedisClient | Connection,
  options: RedisStoreOptions = {},
): DeliveryStore {
  assertOptions(options, ["prefix"]);
  const { prefix = "svc-webhooks:" } = options;
  if (typeof prefix !== "string") {
    throw new ReceiverConfigError("invalid_option", "prefix", "`prefix` must be a string.");
  }
  const connection = connect(client);
  const call = (script: scripts.Script, key: string, args: readonly string[] = []) =>
    connection.run(script, [`${prefix}${key}`], args);
  return {
    shared: true,
    claim: async (key, request) =>
      claimResult(
        await call(scripts.claim, key, [...times(request), ...(request.takeParked ? ["1"] : [])]),
      ),
    complete: async (key, request) =>
      // The script returns nothing else.
      String(await call(scripts.complete, key, withLineage(request))) as CompleteResult,
    release: async (key, request) =>
      Number(await call(scripts.release, key, [...withLineage(request), request.to])) === 1,
    extend: async (key, request) => Number(await call(scripts.extend, key, times(request))) === 1,
    forget: async (key) => Number(await call(scripts.forget, key)) === 1,
    check: () => checkServer(connection, `${prefix}check`),
  };
}

// Each argument costs time in the client, so a call passes only those that its script reads.
const times = ({ token, leaseMs, retainMs }: ClaimRequest) => [
  token,
  String(leaseMs),
  String(retainMs),
];
const withLineage = ({ lineage = "", ...request }: ClaimRequest) => [...times(request), lineage];

function claimResult(reply: unknown): ClaimResult {
  const text = String(reply);
  const rest = text.slice(1);
  switch (text.charAt(0)) {
    case "c": {
      const [fence, run] = rest.split(" ");
      return { status: "claimed", fence: Number(fence), run: Number(run) };
    }
    case "b":
      return { status: "busy", leaseLeftMs: Number(rest) };
    case "d":
      return { status: "done", lineage: rest || undefined };
    case "p":
      return { status: "parked", lineage: rest || undefined };
    default:
      throw new Error(`Redis returned ${JSON.stringify(text.slice(0, 50))} for a claim.`);
  }
}
