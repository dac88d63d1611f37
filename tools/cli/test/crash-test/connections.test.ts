import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { FaultKind } from "@svc-webhooks/crash-test";
import { Crossings } from "../../src/crash-test/crossings.js";
import { bytesProxy } from "../../src/crash-test/proxies/bytes.js";
import { postgresProxy } from "../../src/crash-test/proxies/postgres.js";
import { createRedisGuard } from "../../src/crash-test/proxies/redis-guard.js";
import { redisProxy } from "../../src/crash-test/proxies/redis.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Starts a server that calls `onData` for each chunk. */
async function serverWith(onData: (chunk: Buffer, socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.on("data", (chunk: Buffer) => onData(chunk, socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function crossingsWith(kind?: FaultKind, point = 1): Crossings {
  const faults = kind === undefined ? [] : [{ kind, point }];
  const actions = { kill: () => Promise.resolve(), freeze: () => Promise.resolve() };
  const crossings = new Crossings(faults, [], actions);
  crossings.begin();
  crossings.recorder.attempt({ event: 0, n: 1, isCopy: false, process: "A" });
  return crossings;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  closing.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Resolves with the reply to some bytes, or with undefined if the connection broke. */
const replyTo = async (socket: Socket, bytes: string | Buffer): Promise<string | undefined> => {
  socket.write(bytes);
  const ended = once(socket, "close").then(() => undefined);
  const [chunk] = (await Promise.race([once(socket, "data"), ended])) ?? [];
  return (chunk as Buffer | undefined)?.toString();
};

describe("a protocol that cannot be read", () => {
  const received: string[] = [];
  const throughProxy = async (
    crossings: Crossings,
    before: () => Promise<void> = async () => {},
  ) => {
    received.length = 0;
    const port = await serverWith((chunk, socket) => {
      received.push(chunk.toString());
      void before().then(() => socket.write("reply"));
    });
    const common = { process: "A", name: "QUEUE_URL", host: "127.0.0.1", port, crossings };
    const proxy = await bytesProxy(common);
    closing.push(proxy.close);
    return connected(proxy.port);
  };

  test("is split into bursts, which are approximate", async () => {
    const crossings = crossingsWith();
    const socket = await throughProxy(crossings);
    expect(await replyTo(socket, "one")).toBe("reply");
    expect(await replyTo(socket, "two")).toBe("reply");
    expect(crossings.recorder.crossings.map(({ name, note }) => [name, note])).toEqual([
      ["bytes to QUEUE_URL (approximate)", "approximate"],
      ["bytes to QUEUE_URL (approximate)", "approximate"],
    ]);
    expect(crossings.pending()).toEqual([]);
  });

  test("is not sent on if the call fails", async () => {
    const socket = await throughProxy(crossingsWith("fail"));
    expect(await replyTo(socket, "one")).toBeUndefined();
    expect(received).toEqual([]);
  });

  test("is sent on, and its reply is not, if the reply is lost", async () => {
    const socket = await throughProxy(crossingsWith("response_lost", 2));
    expect(await replyTo(socket, "one")).toBeUndefined();
    expect(received).toEqual(["one"]);
  });

  test("loses a reply that comes after the silence that ends its exchange", async () => {
    const crossings = crossingsWith("response_lost", 2);
    const socket = await throughProxy(crossings, async () => {
      await expect.poll(() => crossings.pending()).toEqual([]);
    });
    expect(await replyTo(socket, "one")).toBeUndefined();
  });

  test("ends an exchange without a reply after a silence", async () => {
    const crossings = crossingsWith();
    const port = await serverWith(() => {});
    const proxy = await bytesProxy({
      process: "A",
      name: "LOG",
      host: "127.0.0.1",
      port,
      crossings,
    });
    closing.push(proxy.close);
    const socket = await connected(proxy.port);
    socket.write("one");
    await expect.poll(() => crossings.recorder.crossings.length).toBe(1);
    expect(await crossings.quiet(50, 60_000, new AbortController().signal)).toBe(true);
  });
});

describe("TLS for a database", () => {
  const request = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
  const startup = Buffer.from("\0\0\0\x20\0\x03\0\0user\0me\0database\0app\0\0\0\0");
  const proxyWith = async (onTlsRefused: () => void) => {
    const port = await serverWith((_chunk, socket) => socket.write("R"));
    const proxy = await postgresProxy({
      process: "A",
      host: "127.0.0.1",
      port,
      database: "app",
      crossings: crossingsWith(),
      onTlsRefused,
      onRefused: () => {},
    });
    closing.push(proxy.close);
    return connected(proxy.port);
  };

  test("is refused, and a client that insists on it is reported", async () => {
    let count = 0;
    const socket = await proxyWith(() => (count += 1));
    expect(await replyTo(socket, request)).toBe("N");
    socket.end();
    await expect.poll(() => count).toBe(1);
  });

  test("is refused, and a client that continues without it is not reported", async () => {
    let count = 0;
    const socket = await proxyWith(() => (count += 1));
    socket.write(request);
    await once(socket, "data");
    socket.write(startup);
    await pause(50);
    socket.destroy();
    await pause(50);
    expect(count).toBe(0);
  });
});

test("a command that its server refuses has no effect", async () => {
  const port = await serverWith((chunk, socket) => {
    socket.write(chunk.includes("refused") ? "-ERR refused\r\n" : ":1\r\n");
  });
  const guard = createRedisGuard(new URL("redis://localhost/1"));
  const crossings = crossingsWith();
  const proxy = await redisProxy({ process: "A", host: "127.0.0.1", port, crossings, guard });
  closing.push(proxy.close);
  const socket = await connected(proxy.port);
  expect(await replyTo(socket, "INCR refused\r\n")).toBe("-ERR refused\r\n");
  expect(await replyTo(socket, "INCR a\r\n")).toBe(":1\r\n");
  expect(crossings.recorder.crossings.map(({ effects, isUndone }) => [effects, isUndone])).toEqual([
    [["INCR refused"], true],
    [["INCR a"], false],
  ]);
});

test("a command that would change other databases of a Redis server is not sent on", async () => {
  const received: string[] = [];
  const port = await serverWith((chunk, socket) => {
    received.push(chunk.toString());
    socket.write("+OK\r\n");
  });
  const guard = createRedisGuard(new URL("redis://me:hidden@localhost/1"));
  const crossings = crossingsWith();
  const proxy = await redisProxy({ process: "A", host: "127.0.0.1", port, crossings, guard });
  closing.push(proxy.close);
  const socket = await connected(proxy.port);
  expect(await replyTo(socket, "FLUSHALL\r\n")).toMatch(/^-ERR svc-webhooks crash-test does not/);
  expect(await replyTo(socket, '"FLUSHALL"\r\n')).toMatch(/^-ERR .* a line with quotes/);
  expect(await replyTo(socket, "PING\nFLUSHALL\r\n")).toMatch(/^-ERR .* a line with quotes/);
  expect(await replyTo(socket, "SELECT 2\r\n")).toMatch(/^-ERR .* SELECT 2 to a server/);
  expect(await replyTo(socket, "SELECT 1\r\n")).toBe("+OK\r\n");
  expect(await replyTo(socket, "SET a 1\r\n")).toBe("+OK\r\n");
  expect(received).toEqual([
    "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nhidden\r\n",
    "*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n",
    "SELECT 1\r\n",
    "SET a 1\r\n",
  ]);
  expect([...guard.written]).toEqual(["a"]);
});
