import type { RequestListener } from "node:http";
import { verify } from "@svc-webhooks/core";
import type { Redis } from "ioredis";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { gate } from "@svc-webhooks/kit/gate";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import { oneRedis } from "@svc-webhooks/kit/one-redis";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { listen } from "@svc-webhooks/kit/servers";
import { bodyOf, deliveriesOf, eventType, secret } from "../src/deliveries.js";
import {
  handWrittenReceiver,
  memoryClaims,
  postgresClaims,
  postgresTable,
  redisClaims,
  type Claims,
} from "../src/hand-written.js";
import { headersFor, load, otherPath } from "../src/http/load.js";
import { otherRequests } from "../src/http/other-requests.js";
import { platforms } from "../src/http/platforms.js";
import { senders } from "../src/schemes.js";
import { floor, ours, peers, type Check } from "../src/verifiers.js";

// Some contenders log the errors of handlers.
beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

const next = deliveriesOf(1_024);

function tampered(body: Buffer): Buffer<ArrayBuffer> {
  const copy = Buffer.from(body);
  copy.writeUInt8(copy.readUInt8(1_000) ^ 1, 1_000);
  return copy;
}

test.each([512, 2_048, 262_144])("an event has exactly %d bytes", (bytes) => {
  expect(bodyOf(bytes)).toHaveLength(bytes);
});

/** Returns whether a check accepts a body. */
async function accepts(check: Check, body: Buffer<ArrayBuffer>): Promise<boolean> {
  try {
    const result = await check(body);
    return result === true || (result as { readonly ok?: unknown }).ok === true;
  } catch {
    return false;
  }
}

test.each(Object.entries({ floor, ours, ...peers }))(
  "%s accepts a genuine body and rejects one with a changed bit",
  async (_name, verifier) => {
    const body = bodyOf(2_048);
    const check = verifier(body, secret);
    expect(await accepts(check, body)).toBe(true);
    expect(await accepts(check, tampered(body))).toBe(false);
  },
);

test.each(Object.entries(senders))(
  "each contender of the scheme %s accepts a genuine body and rejects one with a changed bit",
  async (_name, contenders) => {
    const body = bodyOf(2_048);
    for (const [name, check] of Object.entries(await contenders(body))) {
      expect([name, await accepts(check, body)]).toEqual([name, true]);
      expect([name, await accepts(check, tampered(body))]).toEqual([name, false]);
    }
  },
);

function handWrittenCases(claims: () => Claims): void {
  /** Returns a hand-written receiver, and a function that sends it the same delivery repeatedly. */
  function receiverOf(handle: () => unknown) {
    const handler = vi.fn<() => unknown>(handle);
    const on = { [eventType]: handler };
    const receive = handWrittenReceiver({ secret, on, claims: claims() });
    const { headers, body } = next();
    return { handler, send: () => receive(headers, body) };
  }

  test("runs a delivery once, and returns 503 for a copy of one that is running", async () => {
    const [began, finish] = [gate(), gate()];
    const { handler, send } = receiverOf(() => {
      began.open();
      return finish.opened;
    });
    const first = send();
    await began.opened;
    expect(await send()).toBe(503);
    finish.open();
    expect(await first).toBe(200);
    expect(await send()).toBe(200);
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test("runs a delivery again after its handler has thrown", async () => {
    const { handler, send } = receiverOf(() => {});
    handler.mockImplementationOnce(() => {
      throw new Error("planned");
    });
    expect(await send()).toBe(500);
    expect(await send()).toBe(200);
    expect(handler).toHaveBeenCalledTimes(2);
  });
}

describe("the hand-written receiver in memory", () => {
  handWrittenCases(memoryClaims);
});

describeWithRedis("the hand-written receiver on Redis", () => {
  let redis: Redis;
  oneRedis((client) => (redis = client));
  handWrittenCases(() => redisClaims(redis));

  test("does not release the claim of another run", async () => {
    const claims = redisClaims(redis);
    await claims.claim("dlv_1", "ours");
    await redis.set("webhook:dlv_1", "theirs");
    await claims.release("dlv_1", "ours");
    expect(await redis.get("webhook:dlv_1")).toBe("theirs");
  });
});

describeWithPostgres("the hand-written receiver on PostgreSQL", () => {
  let server: PostgresServer;
  let pool: Pool;
  beforeAll(async () => {
    server = await postgresServer();
    pool = new Pool({ connectionString: server.connectionString });
    await pool.query(postgresTable);
  });
  afterAll(async () => {
    await pool?.end();
    await server?.close();
  });
  handWrittenCases(() => postgresClaims(pool));

  test("does not release the claim of another run, and takes one over after five minutes", async () => {
    const claims = postgresClaims(pool);
    await claims.claim("dlv_1", "ours");
    await claims.release("dlv_1", "theirs");
    expect(await claims.claim("dlv_1", "theirs")).toBe("running");
    await pool.query("update webhooks set claimed_at = now() - interval '301 s'");
    expect(await claims.claim("dlv_1", "theirs")).toBe("claimed");
    await claims.complete("dlv_1");
    await claims.release("dlv_1", "theirs");
    expect(await claims.claim("dlv_1", "ours")).toBe("done");
  });
});

describe("a contender over HTTP", () => {
  /** Returns how often a repeated delivery runs. The bare routes run no handler. */
  const runsOf = (name: string) => (/octokit|tern/.test(name) ? 2 : 1);
  const contenders = Object.entries(platforms).flatMap(([platform, { contenders: all }]) =>
    Object.entries(all)
      .filter(([name]) => name !== "bare route")
      .map(([name, mount]) => [platform, name, mount] as const),
  );

  const send = async (port: number, body: Buffer<ArrayBuffer>, id: string) => {
    const url = `http://127.0.0.1:${port}/webhooks`;
    const response = await fetch(url, { method: "POST", headers: headersFor(id), body });
    await response.arrayBuffer();
    return response.status;
  };

  test.each(contenders)("%s: %s runs, refuses and fails as it should", async (_on, name, mount) => {
    const handle = vi.fn<(event: unknown) => Promise<void>>(async () => {});
    const port = await listen(mount(handle));
    const body = bodyOf(1_024);
    expect(await send(port, body, "dlv_1")).toBe(200);
    expect(await send(port, body, "dlv_1")).toBe(200);
    const runs = Array(runsOf(name)).fill(JSON.parse(body.toString()));
    expect(handle.mock.calls.map(([event]) => event)).toEqual(runs);
    expect(String(await send(port, tampered(body), "dlv_2"))).toMatch(/^4..$/);
    expect(handle).toHaveBeenCalledTimes(runs.length);
    handle.mockRejectedValue(new Error("planned"));
    expect(await send(port, body, "dlv_3")).toBe(500);
  });

  const others = Object.entries(otherRequests).flatMap(([platform, contendersOf]) =>
    Object.entries(contendersOf).map(([name, mount]) => [platform, name, mount] as const),
  );

  test.each(others)("%s %s responds to other requests", async (_on, name, mount) => {
    const handle = vi.fn<(event: unknown) => Promise<void>>(async () => {});
    const port = await listen(await mount(handle));
    expect((await fetch(`http://127.0.0.1:${port}${otherPath}`)).status).toBe(200);
    const receives = name.startsWith("with ");
    expect(await send(port, bodyOf(1_024), "dlv_1")).toBe(receives ? 200 : 404);
    expect(handle).toHaveBeenCalledTimes(receives ? 1 : 0);
    expect(await load(port, 100, { requests: "others" })).toBeGreaterThan(0);
  });
});

describe("the load", () => {
  test("is genuine deliveries, and no id twice", async () => {
    const ids: unknown[] = [];
    const verified = new Set<boolean>();
    const port = await listen(async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      const signature = String(request.headers["x-svc-signature"]);
      verified.add((await verify(body, signature, secret)).ok);
      ids.push(request.headers["x-svc-delivery-id"]);
      response.end();
    });
    const responses = (await load(port, 300)) + (await load(port, 300));
    expect([...verified]).toEqual([true]);
    expect(new Set(ids).size).toBe(ids.length);
    // A connection may wait for one response at the end of each load.
    expect(responses).toBeGreaterThanOrEqual(ids.length - 40);
    expect(responses).toBeLessThanOrEqual(ids.length);
  });

  const refuseOne = (refuse: RequestListener): RequestListener => {
    let requests = 0;
    return (request, response) => {
      requests += 1;
      // The refused request is among the first of all connections: a busy machine may send no more.
      if (requests % 100 === 10) refuse(request, response);
      else response.end();
    };
  };

  test.each<[string, RequestListener]>([
    ["one status is not 2xx", (_request, response) => response.writeHead(401).end()],
    ["the server closes connections", (_request, response) => response.destroy()],
  ])("rejects if %s", async (_title, refuse) => {
    await expect(load(await listen(refuseOne(refuse)), 300)).rejects.toThrow(
      /^\d+ responses were not 2xx, and \d+ requests failed\.$/,
    );
  });
});
