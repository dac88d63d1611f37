import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import type { Redis } from "ioredis";
import type { Pool } from "pg";

/** Returns whether a signature is genuine. The section `verify` compares others with this shortest correct check. */
export function isGenuine(body: Uint8Array, signature: string, secret: string): boolean {
  const received = Buffer.from(signature.slice("sha256=".length), "hex");
  const expected = createHmac("sha256", secret).update(body).digest();
  return received.length === expected.length && timingSafeEqual(received, expected);
}

type State = "running" | "done";

/** Records which deliveries are running and which are done. */
export interface Claims {
  /** Returns `claimed` if the caller must run the handler. `token` identifies this run. */
  claim(id: string, token: string): "claimed" | State | Promise<"claimed" | State>;
  complete(id: string): unknown;
  /** Undoes the claim of `token`, so that the next attempt runs. */
  release(id: string, token: string): unknown;
}

interface Event {
  readonly type: string;
}

interface Options {
  readonly secret: string;
  readonly on: Readonly<Record<string, (event: Event) => unknown>>;
  readonly claims: Claims;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export type HandWrittenReceiver = ReturnType<typeof handWrittenReceiver>;

/**
 * Returns a receiver as a careful user would write it: a constant-time signature check over the raw bytes, 503 for a
 * copy of a delivery that is still running, `done` only after the handler, a release when the handler fails. The
 * receiver resolves to the status to respond with.
 *
 * It has no leases (a handler that hangs blocks its event), time limits, key rotation or reports.
 */
export function handWrittenReceiver({ secret, on, claims }: Options) {
  const handlers = new Map(Object.entries(on));
  const process = randomUUID();
  let runs = 0;

  return async (headers: Headers, body: Buffer): Promise<number> => {
    const signature = headers["x-svc-signature"];
    const id = headers["x-svc-delivery-id"];
    if (typeof signature !== "string" || !isGenuine(body, signature, secret)) return 401;
    if (typeof id !== "string" || id === "") return 400;

    let event: Event | null;
    try {
      event = JSON.parse(body.toString()) as Event | null;
    } catch {
      return 400;
    }
    if (typeof event?.type !== "string") return 400;
    const handle = handlers.get(event.type);
    if (!handle) return 200;

    const token = `${process}:${runs++}`;
    const state = await claims.claim(id, token);
    if (state !== "claimed") return state === "done" ? 200 : 503;
    try {
      await handle(event);
    } catch {
      await claims.release(id, token);
      return 500;
    }
    await claims.complete(id);
    return 200;
  };
}

/**
 * Keeps claims in this process, in two generations of up to 100,000 ids. Dropping the whole older generation is cheaper
 * than removing single ids.
 */
export function memoryClaims(): Claims {
  let young = new Map<string, State>();
  let old = new Map<string, State>();

  return {
    claim(id) {
      const state = young.get(id) ?? old.get(id);
      if (state) return state;
      if (young.size >= 100_000) [old, young] = [young, new Map()];
      young.set(id, "running");
      return "claimed";
    },
    complete: (id) => young.set(id, "done"),
    release(id) {
      young.delete(id);
      old.delete(id);
    },
  };
}

// Nothing renews a claim, so a handler may take at most this long, and a crash blocks its event for as long.
const runMs = 5 * 60_000;
const keepMs = 7 * 24 * 60 * 60_000;

// Uses a script, because between GET and DEL the key could expire and then belong to another run.
const deleteIfOwned = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

const keyOf = (id: string) => `webhook:${id}`;

/**
 * Keeps claims that several processes share: `SET key token NX PX`, then `SET key done PX`. There is no
 * renewal, no fence and no count of runs; a claim whose reply is lost blocks its event for five minutes.
 */
export function redisClaims(redis: Redis): Claims {
  return {
    async claim(id, token) {
      if (await redis.set(keyOf(id), token, "PX", runMs, "NX")) return "claimed";
      return (await redis.get(keyOf(id))) === "done" ? "done" : "running";
    },
    complete: (id) => redis.set(keyOf(id), "done", "PX", keepMs),
    release: (id, token) => redis.eval(deleteIfOwned, 1, keyOf(id), token),
  };
}

/** The statement that creates the table of `postgresClaims`. */
export const postgresTable = `create table webhooks (
  id text primary key, token text not null, claimed_at timestamptz not null default now(), done boolean not null default false
)`;

const claimStatement = `insert into webhooks as known (id, token) values ($1, $2) on conflict (id)
do update set token = excluded.token, claimed_at = now()
where not known.done and known.claimed_at < now() - $3::integer * interval '1 millisecond'`;

/** Keeps claims in a table: an insert, then an update. There is no renewal, no fence and no count of runs. */
export function postgresClaims(pool: Pool): Claims {
  return {
    async claim(id, token) {
      const { rowCount } = await pool.query(claimStatement, [id, token, runMs]);
      if (rowCount === 1) return "claimed";
      const { rows } = await pool.query<{ done: boolean }>(
        "select done from webhooks where id = $1",
        [id],
      );
      return rows[0]?.done ? "done" : "running";
    },
    complete: (id) => pool.query("update webhooks set done = true where id = $1", [id]),
    release: (id, token) =>
      pool.query("delete from webhooks where id = $1 and token = $2 and not done", [id, token]),
  };
}
