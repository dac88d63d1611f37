import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { freePort } from "@svc-webhooks/kit/free-port";
import { gate } from "@svc-webhooks/kit/gate";
import { testRequiring } from "@svc-webhooks/kit/requiring";
import { until } from "@svc-webhooks/kit/until";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import {
  type ReceivedResponse,
  type Failure,
  type NetworkTransportOptions,
  networkTransport,
  type OutgoingRequest,
} from "../../src/network/transport.js";
import type { Address, Lookup, UrlRule } from "../../src/network/url-rule.js";
import { clientOnly, expired, key, valid } from "./certificates.js";

/** Open connections to the servers of the running test. */
const connections = new Set<Socket>();
let connectionCount = 0;

afterEach(async () => {
  // Every test below must end with the sender's sockets closed.
  await until(() => connections.size === 0, "every connection is closed");
  connectionCount = 0;
});

async function listening<S extends Server>(server: S, host = "127.0.0.1", port = 0): Promise<S> {
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    connectionCount += 1;
    socket.on("error", () => {});
    socket.on("close", () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  onTestFinished(() => void server.close());
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Starts a server that calls `onRequest` with each connection once the first bytes of its request arrive. */
async function rawServer(onRequest: (socket: Socket) => void, host?: string): Promise<number> {
  const server = createServer((socket) => {
    // Reads to the end, to notice when the sender closes the connection.
    socket.once("data", () => onRequest(socket)).resume();
  });
  return portOf(await listening(server, host));
}

const ok = "HTTP/1.1 200 OK\r\n\r\n";
const encoder = new TextEncoder();

function transport(options: Partial<NetworkTransportOptions> = {}) {
  return networkTransport({ rule: () => "loopback", isOwn: () => false, ...options });
}

function request(url: string, rest: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return { url, headers: [], body: encoder.encode("{}"), ...rest };
}

async function responseOf(
  url: string,
  options: Partial<NetworkTransportOptions> = {},
  rest: Partial<OutgoingRequest> = {},
): Promise<ReceivedResponse> {
  const sent = await transport(options)(request(url, rest), new AbortController().signal);
  if ("error" in sent) throw new Error(`${sent.error.kind}: ${sent.error.text}`);
  return sent.response;
}

async function failureOf(
  url: string,
  options: Partial<NetworkTransportOptions> = {},
  rest: Partial<OutgoingRequest> = {},
): Promise<Failure> {
  const sent = await transport(options)(request(url, rest), new AbortController().signal);
  if ("response" in sent) throw new Error(`The receiver answered ${sent.response.status}.`);
  return sent.error;
}

const text = (response: ReceivedResponse): string => new TextDecoder().decode(response.body);

const address = (value: string): Address => ({
  address: value,
  family: value.includes(":") ? 6 : 4,
});

/** Creates a resolver that returns one list per call, and records the calls. */
function resolver(...lists: string[][]): { lookup: Lookup; calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    lookup: async (hostname) => {
      calls.push(hostname);
      const list = lists[calls.length - 1];
      if (list === undefined) throw new Error("This resolver was called too often.");
      return list.map(address);
    },
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Sends one request, and returns the server's port and the bytes that it received. */
async function wire(rest: Partial<OutgoingRequest>, path = "/"): Promise<[number, string]> {
  const received = gate<string>();
  const server = createServer((socket) => {
    let bytes = "";
    socket.on("data", (chunk) => {
      bytes += chunk.toString("latin1");
      if (!/\r\n\r\n/.test(bytes)) return;
      received.open(bytes);
      socket.end("HTTP/1.1 204 No Content\r\n\r\n");
    });
  });
  const port = portOf(await listening(server));
  await responseOf(`http://localhost:${port}${path}`, resolver(["127.0.0.1"]), rest);
  return [port, await received.opened];
}

describe("the request", () => {
  test("has the given headers in their order, case and number", async () => {
    const [port, bytes] = await wire(
      {
        headers: [
          ["X-SVC-Signature", "sha256=a"],
          ["content-TYPE", "application/json"],
          ["x-svc-signature", "sha256=b"],
          ["X-SVC-Signature", "sha256=c"],
        ],
        body: encoder.encode("{ }"),
      },
      "/webhooks?a=%20b",
    );
    expect(bytes).toBe(
      [
        "POST /webhooks?a=%20b HTTP/1.1",
        `Host: localhost:${port}`,
        "Content-Length: 3",
        "Connection: close",
        "X-SVC-Signature: sha256=a",
        "content-TYPE: application/json",
        "x-svc-signature: sha256=b",
        "X-SVC-Signature: sha256=c",
        "",
        "{ }",
      ].join("\r\n"),
    );
  });

  test("leaves out given headers that would contradict the connection", async () => {
    const [port, bytes] = await wire({
      headers: [
        ["HOST", "example.com"],
        ["content-length", "7"],
        ["Transfer-Encoding", "chunked"],
        ["Connection", "keep-alive"],
        ["X-Kept", "1"],
      ],
      body: new Uint8Array(),
    });
    expect(bytes).toBe(
      `POST / HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 0\r\nConnection: close\r\nX-Kept: 1\r\n\r\n`,
    );
  });

  test("carries the body byte for byte", async () => {
    const body = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    const received = gate<Buffer | Promise<Buffer>>();
    const server = await listening(
      createHttpServer((incoming, response) => {
        received.open(bodyOf(incoming));
        incoming.on("end", () => response.end());
      }),
    );
    await responseOf(`http://127.0.0.1:${portOf(server)}/`, {}, { body });
    expect((await received.opened).equals(body)).toBe(true);
  });

  test("uses a new connection each time, although the receiver offers to keep it", async () => {
    const port = await rawServer((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"),
    );
    const send = transport();
    for (let n = 0; n < 3; n += 1) {
      await send(request(`http://127.0.0.1:${port}/`), new AbortController().signal);
    }
    expect(connectionCount).toBe(3);
  });

  test.each([
    ["a line break in a header", [["X-A", "1\r\nX-B: 2"]]],
    ["a header name with a space", [["X A", "1"]]],
    ["a header outside Latin-1", [["X-A", "→"]]],
  ] as const)("is not sent with %s", async (_, headers) => {
    const port = await rawServer((socket) => socket.end(ok));
    expect(await failureOf(`http://127.0.0.1:${port}/`, {}, { headers })).toMatchObject({
      kind: "protocol",
      text: expect.stringContaining("The request cannot be sent: "),
    });
    expect(connectionCount).toBe(0);
  });
});

describe("the response", () => {
  test("has the status, all headers as they came, and the body", async () => {
    const port = await rawServer((socket) =>
      socket.end(
        "HTTP/1.1 418 Short and Stout\r\nSet-Cookie: a\r\nx-B: 1\r\nSet-Cookie: b\r\nContent-Length: 4\r\n\r\nbody",
      ),
    );
    expect(await responseOf(`http://127.0.0.1:${port}/`)).toEqual({
      status: 418,
      headers: [
        ["Set-Cookie", "a"],
        ["x-B", "1"],
        ["Set-Cookie", "b"],
        ["Content-Length", "4"],
      ],
      body: encoder.encode("body"),
      bytes: 4,
      truncated: false,
    });
  });

  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  test.each([
    ["is ended by the close of the connection", `${ok}body`, 200, "body"],
    ["is chunked", `${chunked}2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n`, 200, "body"],
    ["is chunked with trailers", `${chunked}4\r\nbody\r\n0\r\nX-T: 1\r\n\r\n`, 200, "body"],
    ["is empty", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
    [
      "redirects",
      "HTTP/1.1 307 Temporary Redirect\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
      307,
      "",
    ],
    ["is an error", "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nbody", 500, "body"],
    [
      "follows informational responses",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${ok}body`,
      200,
      "body",
    ],
    [
      "is followed by other bytes",
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more",
      200,
      "body",
    ],
    [
      "offers an upgrade",
      "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbody",
      200,
      "body",
    ],
  ])("is complete if it %s", async (_, bytes, status, body) => {
    const port = await rawServer((socket) => socket.end(bytes));
    const response = await responseOf(`http://127.0.0.1:${port}/`);
    expect({ ...response, body: text(response) }).toMatchObject({
      status,
      body,
      bytes: body.length,
      truncated: false,
    });
    expect(connectionCount).toBe(1);
  });

  test("does not depend on the packets in which it arrives", async () => {
    const bytes = `${chunked}4\r\nbody\r\n0\r\n\r\n`;
    const port = await rawServer((socket) => {
      socket.setNoDelay(true);
      let sent = 0;
      const next = (): void => {
        if (sent < bytes.length) socket.write(bytes.charAt(sent++), () => setImmediate(next));
      };
      next();
    });
    expect(text(await responseOf(`http://127.0.0.1:${port}/`))).toBe("body");
  });

  test.each([
    ["9 of 8 bytes arrived", "012345678", true],
    ["8 of 8 bytes arrived", "01234567", false],
  ])("is truncated after captureBytes: %s", async (_, body, truncated) => {
    const port = await rawServer((socket) => socket.end(ok + body));
    const response = await responseOf(`http://127.0.0.1:${port}/`, { captureBytes: 8 });
    expect({ ...response, body: text(response) }).toMatchObject({
      body: "01234567",
      bytes: body.length,
      truncated,
    });
  });

  test("keeps 65,536 bytes by default, and counts at least what it read", async () => {
    const port = await rawServer((socket) => socket.end(ok + "x".repeat(65_537)));
    const response = await responseOf(`http://127.0.0.1:${port}/`);
    expect(response.body.byteLength).toBe(65_536);
    expect(response).toMatchObject({ bytes: 65_537, truncated: true });
  });

  test.each([
    ["the body has no end", ok + "x".repeat(9)],
    ["chunks have no end", `${chunked}9\r\n012345678\r\n`],
    [
      "a declared body is huge",
      "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000\r\n\r\n012345678",
    ],
    ["the rest of a declared body stalls", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n01234567"],
  ])("does not await the rest after captureBytes if %s", async (_, bytes) => {
    const port = await rawServer((socket) => socket.write(bytes));
    const response = await responseOf(`http://127.0.0.1:${port}/`, { captureBytes: 8 });
    expect(response).toMatchObject({ status: 200, truncated: true });
    expect(response.body.byteLength).toBe(8);
  });

  test.each([
    ["closes the connection", "first bytes", (socket: Socket) => socket.end()],
    ["drops the connection", "first bytes", (socket: Socket) => socket.destroy()],
    ["drops the connection", "connection", (socket: Socket) => socket.destroy()],
  ])("counts if the receiver %s after a response to the %s", async (_, moment, close) => {
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      const respond = (): void => {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nbody", () => {
          close(socket);
          // A paused socket does not notice that the sender has closed the connection.
          socket.resume();
        });
      };
      if (moment === "connection") respond();
      else socket.once("data", respond).resume();
    });
    const url = `http://127.0.0.1:${portOf(await listening(server))}/`;
    const body = new Uint8Array(8 * 1024 * 1024);
    for (let n = 0; n < 20; n += 1) {
      const response = await responseOf(url, {}, { body });
      expect([response.status, text(response)]).toEqual([413, "body"]);
    }
  });
});

describe("a failure", () => {
  test.each([
    [
      "closes before it responds",
      "",
      "reset",
      "The connection was closed before a response arrived.",
    ],
    [
      "closes in the head",
      "HTTP/1.1 200 OK\r\nContent-Le",
      "reset",
      "The connection was closed before a response arrived.",
    ],
    [
      "closes in a declared body",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody",
      "reset",
      "The connection was closed in the middle of the response.",
    ],
    [
      "closes in a chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbody",
      "reset",
      "The connection was closed in the middle of the response.",
    ],
    [
      "closes before the last chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
      "reset",
      "The connection was closed in the middle of the response.",
    ],
    [
      "speaks another protocol",
      "SSH-2.0-OpenSSH_9.6\r\n",
      "protocol",
      "The response is not valid HTTP",
    ],
    [
      "sends a wrong chunk size",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbody",
      "protocol",
      "The response is not valid HTTP",
    ],
    [
      "sends two framings",
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nbody",
      "protocol",
      "The response is not valid HTTP",
    ],
    [
      "sends headers over 16 KiB",
      `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(16_384)}\r\n\r\n`,
      "protocol",
      "The response headers are larger than 16 KiB.",
    ],
    [
      "switches protocols",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nbytes",
      "protocol",
      "The receiver switched to another protocol (status 101).",
    ],
    [
      "switches protocols without an Upgrade header",
      "HTTP/1.1 101 Switching Protocols\r\n\r\nbytes",
      "protocol",
      "The receiver switched to another protocol (status 101).",
    ],
  ])("is reported if the receiver %s", async (_, bytes, kind, words) => {
    const port = await rawServer((socket) => socket.end(bytes));
    const failure = await failureOf(`http://127.0.0.1:${port}/`);
    expect(failure).toEqual({ kind, text: expect.stringContaining(words) });
    expect(failure.text).toMatch(/^[A-Z].+\.$/);
  });

  test("is a reset if the receiver resets the connection", async () => {
    const accepting = await listening(createServer((socket) => socket.resetAndDestroy()));
    expect(await failureOf(`http://127.0.0.1:${portOf(accepting)}/`)).toMatchObject({
      kind: "reset",
    });
    const before = await rawServer((socket) => socket.resetAndDestroy());
    expect(await failureOf(`http://127.0.0.1:${before}/`)).toEqual({
      kind: "reset",
      text: "The connection was closed before a response arrived.",
    });
    const during = await rawServer((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody", () =>
        setImmediate(() => socket.resetAndDestroy()),
      ),
    );
    expect(await failureOf(`http://127.0.0.1:${during}/`)).toEqual({
      kind: "reset",
      text: "The connection was closed in the middle of the response.",
    });
  });

  test("is a reset if the receiver closes while a large body is being sent", async () => {
    const port = await rawServer((socket) => socket.destroy());
    const body = new Uint8Array(8 * 1024 * 1024);
    expect(await failureOf(`http://127.0.0.1:${port}/`, {}, { body })).toMatchObject({
      kind: "reset",
    });
  });

  test("names the port on which nothing listens", async () => {
    const port = await freePort();
    expect(await failureOf(`http://127.0.0.1:${port}/`)).toEqual({
      kind: "refused",
      text: `Nothing is listening on port ${port} of 127.0.0.1.`,
    });
    expect(
      await failureOf(`http://name.test:${port}/`, resolver(["127.0.0.1", "127.0.0.2"])),
    ).toEqual({
      kind: "refused",
      text: `Nothing is listening on port ${port} of name.test. Addresses tried: 127.0.0.1, 127.0.0.2.`,
    });
  });

  test("is that of the first address if none accepts a connection", async () => {
    const port = await freePort();
    // Connecting to a broadcast address fails with a different error than connecting to a free port.
    const url = `http://name.test:${port}/`;
    expect(await failureOf(url, resolver(["127.0.0.1", "127.255.255.255"]))).toEqual({
      kind: "refused",
      text: `Nothing is listening on port ${port} of name.test. Addresses tried: 127.0.0.1, 127.255.255.255.`,
    });
    expect(await failureOf(url, resolver(["127.255.255.255", "127.0.0.1"]))).toEqual({
      kind: "refused",
      text: expect.not.stringContaining("Nothing is listening"),
    });
  });

  test("is of kind dns if the name has no address", async () => {
    expect(await failureOf("http://name.test/", { lookup: async () => [] })).toEqual({
      kind: "dns",
      text: expect.stringContaining(
        "The host name name.test does not resolve to an address. Use a loopback address",
      ),
    });
  });

  test.each([
    ["loopback", "http://10.0.0.1/"],
    ["loopback", "http://name.test/"],
    ["loopback", "http://127.1/"],
    ["strict", "http://127.0.0.1/"],
    ["strict", "http://name.test/"],
    ["strict", "https://127.0.0.1/"],
  ] as const)("is of kind url_refused if the %s rule does not allow %s", async (rule, url) => {
    const options = { rule: () => rule, ...resolver(["93.184.215.14"]) };
    expect(await failureOf(url, options)).toMatchObject({ kind: "url_refused" });
  });

  test("is returned, not thrown, whatever an option throws", async () => {
    const broken = (): never => {
      throw new Error("broken");
    };
    for (const options of [{ rule: broken }, { isOwn: broken }]) {
      expect(await failureOf("http://127.0.0.1:1/", options)).toMatchObject({ kind: "protocol" });
    }
  });
});

describe("the connection", () => {
  test("goes to the checked address, without a second look-up", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    // The system cannot resolve this name, so any other look-up would fail.
    const names = resolver(["127.0.0.1"], ["93.184.215.14"]);
    const response = await responseOf(`http://rebinding.test:${port}/`, names);
    expect(response.status).toBe(200);
    expect(names.calls).toEqual(["rebinding.test"]);
  });

  test("is not made if the name was public at the check and became loopback afterwards", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    const url = `http://rebinding.test:${port}/`;
    const names = resolver(["93.184.215.14"], ["127.0.0.1"]);
    expect(await failureOf(url, names)).toMatchObject({ kind: "url_refused" });
    expect([names.calls.length, connectionCount]).toEqual([1, 0]);
    // The next attempt is checked again.
    expect((await responseOf(url, names)).status).toBe(200);
    expect(names.calls).toHaveLength(2);
  });

  test("is judged by the rule that holds at the attempt", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    let rule: UrlRule = "loopback";
    const send = transport({ rule: () => rule });
    const attempt = () => send(request(`http://127.0.0.1:${port}/`), new AbortController().signal);
    expect(await attempt()).toHaveProperty("response.status", 200);
    rule = "strict";
    expect(await attempt()).toHaveProperty("error.kind", "url_refused");
  });

  test("is not made to the sandbox itself", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    const isOwn = (own: string, ownPort: number): boolean =>
      own === "127.0.0.1" && ownPort === port;
    for (const host of ["127.0.0.1", "name.test"]) {
      const options = { isOwn, ...resolver(["127.0.0.2", "127.0.0.1"]) };
      expect(await failureOf(`http://${host}:${port}/`, options)).toEqual({
        kind: "url_refused",
        text: expect.stringContaining("is the sandbox itself"),
      });
    }
    expect(connectionCount).toBe(0);
  });

  test("is made to the next address if the first one refuses it", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    const names = resolver(["::1", "127.0.0.2", "127.0.0.1"]);
    expect((await responseOf(`http://name.test:${port}/`, names)).status).toBe(200);
    expect(connectionCount).toBe(1);
  });

  test("is not made to the next address once one was established", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    await listening(
      createServer((socket) => socket.destroy()),
      "127.0.0.2",
      port,
    );
    const names = resolver(["127.0.0.2", "127.0.0.1"]);
    expect(await failureOf(`http://name.test:${port}/`, names)).toMatchObject({ kind: "reset" });
    expect(connectionCount).toBe(1);
  });

  const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
    list?.some((own) => own.address === "::1"),
  );
  testRequiring("IPv6", hasIpv6)("reaches an IPv6 address", async () => {
    const server = createHttpServer((incoming, response) => response.end(incoming.headers.host));
    const port = portOf(await listening(server, "::1"));
    expect(text(await responseOf(`http://[::1]:${port}/`))).toBe(`[::1]:${port}`);
  });

  test.each(["127.0.0.1", "::1"])("reaches a receiver of localhost on %s alone", async (host) => {
    const port = await rawServer((socket) => socket.end(ok), host);
    const names = resolver();
    expect((await responseOf(`http://localhost:${port}/`, names)).status).toBe(200);
    expect((await responseOf(`http://app.localhost:${port}/`, names)).status).toBe(200);
    expect(names.calls).toEqual([]);
  });
});

describe("TLS", () => {
  async function tlsServer(cert: string): Promise<number> {
    const server = createHttpsServer({ key, cert }, (_, response) => response.end("secure"));
    return portOf(await listening(server));
  }

  test.each(["receiver.test", "127.0.0.1"])("delivers to a certificate for %s", async (host) => {
    const names = resolver(["127.0.0.1"]);
    const server = createHttpsServer({ key, cert: valid }, (incoming, response) => {
      // Clients send no server name for an IP address (RFC 6066, section 3).
      response.end(String((incoming.socket as { servername?: unknown }).servername));
    });
    const url = `https://${host}:${portOf(await listening(server))}/`;
    expect(text(await responseOf(url, { ca: valid, ...names }))).toBe(
      host === "receiver.test" ? host : "false",
    );
  });

  test.each([
    ["self-signed", "receiver.test", valid, undefined, "The certificate is self-signed. To trust"],
    ["expired", "receiver.test", expired, expired, "The certificate has expired."],
    [
      "for another host",
      "other.test",
      valid,
      valid,
      "The certificate is not valid for other.test. Use a host name that it contains.",
    ],
    [
      "for an address only at first sight",
      "127.0.0.1.other.test",
      valid,
      valid,
      "The certificate is not valid for 127.0.0.1.other.test. Use a host name that it contains.",
    ],
    [
      "for clients alone",
      "localhost",
      clientOnly,
      clientOnly,
      "The certificate was refused: unsuitable certificate purpose (INVALID_PURPOSE).",
    ],
  ])("refuses a certificate that is %s", async (_, host, cert, ca, words) => {
    const url = `https://${host}:${await tlsServer(cert)}/`;
    expect(await failureOf(url, { ca, ...resolver(["127.0.0.1"]) })).toEqual({
      kind: "tls",
      text: expect.stringContaining(words),
    });
  });

  test("refuses an untrusted certificate although NODE_TLS_REJECT_UNAUTHORIZED is 0", async () => {
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    onTestFinished(() => {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    });
    const url = `https://127.0.0.1:${await tlsServer(valid)}/`;
    expect(await failureOf(url)).toMatchObject({ kind: "tls" });
  });

  test("names a receiver that does not use TLS", async () => {
    const server = await listening(createHttpServer((_, response) => response.end()));
    expect(await failureOf(`https://127.0.0.1:${portOf(server)}/`)).toEqual({
      kind: "tls",
      text: "This port does not use TLS. Use an http: URL, or the port that serves HTTPS.",
    });
  });

  test.each([
    [
      "an old version",
      { maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" },
      /^The TLS connection failed \([^:\n]+ protocol version\)\.$/,
    ],
    [
      "a client certificate",
      { requestCert: true, rejectUnauthorized: true },
      /^The server requires a client certificate \([^:\n]+\), but none is ever sent\./,
    ],
    [
      "a client certificate with TLS 1.2",
      { requestCert: true, rejectUnauthorized: true, maxVersion: "TLSv1.2" },
      /^The server refused the TLS handshake \([^:\n]+\)\. It may require a client certificate,/,
    ],
  ] as const)("reports the alert of a receiver that requires %s", async (_, options, words) => {
    const server = createHttpsServer({ key, cert: valid, ...options }, (_incoming, response) =>
      response.end(),
    );
    const url = `https://127.0.0.1:${portOf(await listening(server))}/`;
    const failure = await failureOf(url, { ca: valid });
    expect(failure).toEqual({ kind: "tls", text: expect.stringMatching(words) });
  });

  test("reports a connection that is closed during the handshake as a reset", async () => {
    const port = await rawServer((socket) => socket.end());
    expect(await failureOf(`https://127.0.0.1:${port}/`)).toEqual({
      kind: "reset",
      text: "The connection was closed during the TLS handshake.",
    });
  });

  test("takes the response of a receiver that closes before it read the body", async () => {
    const server = createHttpsServer({ key, cert: valid }, (incoming, response) => {
      response.writeHead(413, { connection: "close" }).end("body", () => incoming.destroy());
    });
    const url = `https://127.0.0.1:${portOf(await listening(server))}/`;
    const body = new Uint8Array(8 * 1024 * 1024);
    for (let n = 0; n < 10; n += 1) {
      const response = await responseOf(url, { ca: valid }, { body });
      expect([response.status, text(response)]).toEqual([413, "body"]);
    }
  });
});

describe("an abort", () => {
  const stopped = {
    error: { kind: "timeout", text: "The attempt ended before the response was complete." },
  };

  test.each([
    ["before the response", ""],
    ["after a part of the head", "HTTP/1.1 200 OK\r\nX-"],
    ["after an informational response", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["after a part of the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody"],
  ])("ends the attempt %s and closes the connection", async (_, bytes) => {
    const arrived = gate();
    const port = await rawServer((socket) => socket.write(bytes || "", () => arrived.open()));
    const controller = new AbortController();
    const sent = transport()(request(`http://127.0.0.1:${port}/`), controller.signal);
    await arrived.opened;
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort();
    expect(await sent).toEqual(stopped);
  });

  test("ends the attempt in every turn of the event loop, without an unhandled error", async () => {
    const port = await rawServer(() => {});
    for (const scheme of ["http", "https"]) {
      for (let turns = 0; turns < 30; turns += 1) {
        const controller = new AbortController();
        const sent = transport()(request(`${scheme}://127.0.0.1:${port}/`), controller.signal);
        for (let n = 0; n < turns; n += 1) await new Promise((resolve) => setImmediate(resolve));
        controller.abort();
        expect(await sent).toEqual(stopped);
      }
    }
  });

  test("ends the attempt while the body is being sent", async () => {
    const connected = gate<Socket>();
    const server = createServer((socket) => connected.open(socket.pause()));
    const port = portOf(await listening(server));
    const controller = new AbortController();
    const body = new Uint8Array(32 * 1024 * 1024);
    const sent = transport()(request(`http://127.0.0.1:${port}/`, { body }), controller.signal);
    const socket = await connected.opened;
    controller.abort();
    expect(await sent).toEqual(stopped);
    socket.resume();
  });

  test("ends the attempt during the TLS handshake", async () => {
    const arrived = gate();
    const port = await rawServer(() => arrived.open());
    const controller = new AbortController();
    const sent = transport()(request(`https://127.0.0.1:${port}/`), controller.signal);
    await arrived.opened;
    controller.abort();
    expect(await sent).toEqual(stopped);
  });

  test("ends a look-up that does not end, and nothing is sent if it ends later", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    const found = gate<readonly Address[]>();
    const called = gate();
    const lookup: Lookup = () => {
      called.open();
      return found.opened;
    };
    const controller = new AbortController();
    const sent = transport({ lookup })(request(`http://name.test:${port}/`), controller.signal);
    await called.opened;
    controller.abort();
    expect(await sent).toEqual(stopped);
    found.open([address("127.0.0.1")]);
    // This later request arrives, so an earlier one would have arrived too.
    await responseOf(`http://127.0.0.1:${port}/`);
    expect(connectionCount).toBe(1);
  });

  test("ends the attempt at every moment between the look-up and the connection", async () => {
    const port = await rawServer(() => {});
    for (let steps = 0; steps < 20; steps += 1) {
      const controller = new AbortController();
      const lookup: Lookup = async () => {
        const abortAfter = async (): Promise<void> => {
          for (let n = 0; n < steps; n += 1) await Promise.resolve();
          controller.abort();
        };
        void abortAfter();
        return [address("127.0.0.1")];
      };
      const send = transport({ lookup });
      expect(await send(request(`http://name.test:${port}/`), controller.signal)).toEqual(stopped);
    }
  });

  test("before the attempt prevents it", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    const url = `http://127.0.0.1:${port}/`;
    expect(await transport()(request(url), AbortSignal.abort())).toEqual(stopped);
    const stalls = transport({ lookup: () => new Promise(() => {}) });
    expect(await stalls(request("http://name.test/"), AbortSignal.abort())).toEqual(stopped);
    await responseOf(url);
    expect(connectionCount).toBe(1);
  });

  test("after the attempt changes nothing, and no listener stays on the signal", async () => {
    const port = await rawServer((socket) => socket.end(ok));
    const { signal } = new AbortController();
    const listeners = { added: 0, removed: 0 };
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners.added += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.removed += 1;
      remove(...args);
    };
    await transport()(request(`http://127.0.0.1:${port}/`), signal);
    expect(listeners.added).toBeGreaterThan(0);
    expect(listeners.removed).toBe(listeners.added);
  });
});
