import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { acceptor, type ByHandOptions, type Headers } from "./accept.js";

export interface RedisByHandOptions extends ByHandOptions {
  readonly redis: Redis;
}

// Nothing renews it, so no handler may take longer; one that died blocks its event as long.
const runMs = 5 * 60_000;
const keepMs = 7 * 24 * 60 * 60_000;

// Not GET and then DEL: in between the key may have ended and be somebody else's.
const deleteIfOurs = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/**
 * The receiver of `receive.ts` for several processes: `SET key token NX PX` takes the delivery, `SET
 * key done PX` keeps it done. Where the key is there already, its value tells: `done` is a duplicate,
 * 200; anything else, also nothing, is a copy that runs or just ran, 503. A handler that throws gives
 * the key back if it is still its own. A Redis that fails is the caller's 500, as are its time limits.
 *
 * What it leaves out, beyond what `receive.ts` does: renewal, so a handler that takes longer than five
 * minutes runs twice at once; fences and counts of runs; a claim whose answer got lost, which blocks
 * its event for five minutes; a completion that fails, after which the event runs again; other
 * receivers on the same Redis, and ids that are chosen by a stranger, in its keys.
 */
export function redisReceiverByHand({ redis, ...options }: RedisByHandOptions) {
  const accept = acceptor(options);

  return async (headers: Headers, body: Buffer): Promise<number> => {
    const accepted = accept(headers, body);
    if (typeof accepted === "number") return accepted;
    const { id, event, handle } = accepted;

    const key = `webhook:${id}`;
    const token = randomUUID();
    const taken = await redis.set(key, token, "PX", runMs, "NX");
    if (taken === null) return (await redis.get(key)) === "done" ? 200 : 503;
    try {
      await handle(event);
    } catch {
      await redis.eval(deleteIfOurs, 1, key, token);
      return 500;
    }
    await redis.set(key, "done", "PX", keepMs);
    return 200;
  };
}
