import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { serveHandler } from "../src/conformance/handler-server.js";
import { served } from "./listening.js";

const listener = async () => (await served()).port;

async function handler(): Promise<number> {
  const { url, close } = await serveHandler(0, async () => {});
  onTestFinished(close);
  return Number(new URL(url).port);
}

const size = 20_000_000;
const known = `Content-Length: ${size}\r\n\r\n${"a".repeat(size)}`;
const chunked = `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${"a".repeat(size)}\r\n0\r\n\r\n`;

test.each([
  ["listen", "with a Content-Length", 413, listener, known],
  ["listen", "in chunks", 413, listener, chunked],
  ["conformance --handler-port", "with a Content-Length", 400, handler, known],
  ["conformance --handler-port", "in chunks", 400, handler, chunked],
] as const)(
  "%s responds to a body that is too large, %s, also if the sender reads nothing before its end",
  async (_command, _how, status, open, rest) => {
    const socket = connect(await open(), "127.0.0.1");
    // Most clients that block write the whole body first.
    socket.pause();
    const sent = `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${rest}`;
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.write(sent, () => resolve());
    });
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  },
);

test("a connection whose body was too large is used again", async () => {
  const socket = connect(await listener(), "127.0.0.1");
  const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab";
  let received = "";
  socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
  socket.write(request + request.replace("Host", "Connection: close\r\nHost"));
  await once(socket, "close");
  expect(received.match(/^HTTP\/1\.1 413 /gm)).toHaveLength(2);
});
