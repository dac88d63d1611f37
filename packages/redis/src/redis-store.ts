import type { ClaimRequest, ClaimResult, CompleteResult, DeliveryStore } from "@svc-webhooks/core";
import { checkServer } from "./check.js";
import { connect, type Connection, type RedisClient } from "./connection.js";
import * as scripts from "./scripts.js";

export interface RedisStoreOptions {
  /** What the store's keys begin with. Default `"svc-webhooks:"`. Errors: `TypeError` if it is no string. */
  readonly prefix?: string | undefined;
}

/**
 * Records on Redis 6.2 or newer, shared by all processes that use the same server or cluster. One
 * key per delivery, one script per call, judged by the server's clock. The client is yours: connect
 * it, listen for its errors and close it.
 *
 * While the client is not connected every call rejects at once, whatever its offline queue is set
 * to: the receiver answers 503 and the sender tries again.
 *
 * @param client of ioredis 5 or 6 (`Redis`, `Cluster`) or node-redis 5 or 6 (client, cluster),
 *   or a `Connection` of your own to something that runs Lua scripts
 * @throws TypeError if `client` is none of them, or `prefix` is no string
 */
export function redisStore(
  client: RedisClient | Connection,
  { prefix = "svc-webhooks:" }: RedisStoreOptions = {},
): DeliveryStore {
  if (typeof prefix !== "string") throw new TypeError("redisStore: prefix must be a string");
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
      // Only what the script can answer comes back.
      String(await call(scripts.complete, key, withLineage(request))) as CompleteResult,
    release: async (key, request) =>
      Number(await call(scripts.release, key, [...withLineage(request), request.to])) === 1,
    extend: async (key, request) => Number(await call(scripts.extend, key, times(request))) === 1,
    forget: async (key) => Number(await call(scripts.forget, key)) === 1,
    check: () => checkServer(connection, `${prefix}check`),
  };
}

// Arguments cost the client more than the server: no more than a script reads.
const times = ({ token, leaseMs, retainMs }: ClaimRequest) => [
  token,
  String(leaseMs),
  String(retainMs),
];
const withLineage = ({ lineage = "", ...request }: ClaimRequest) => [...times(request), lineage];

function claimResult(reply: unknown): ClaimResult {
  const answer = String(reply);
  const rest = answer.slice(1);
  switch (answer.charAt(0)) {
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
      throw new Error(`Redis answered a claim with ${JSON.stringify(answer.slice(0, 50))}`);
  }
}
