import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { targetAt } from "../src/lib/target.js";

/**
 * Responds in its own thread or, if `waits`, once the first bytes have arrived, without reading the rest, and stores in shared
 * memory that it has closed the connection.
 */
const server = `
  const { createServer } = require("node:net");
  const { parentPort, workerData: [waits, closed] } = require("node:worker_threads");
  const listening = createServer({ pauseOnConnect: true }, (socket) => {
    const respond = () =>
      socket.write("HTTP/1.1 413 Content Too Large\\r\\ncontent-length: 9\\r\\n\\r\\ntoo large", () =>
        socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => {
      Atomics.store(closed, 0, 1);
      Atomics.notify(closed, 0);
    });
    if (!waits) respond();
    else socket.once("data", () => { socket.pause(); respond(); }).resume();
  });
  listening.listen(0, "127.0.0.1", () => parentPort.postMessage(listening.address().port));
`;

async function earlyServer(waits: boolean) {
  const closed = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(server, { eval: true, workerData: [waits, closed] });
  onTestFinished(() => void worker.terminate());
  const [port] = (await once(worker, "message")) as [number];
  const url = new URL(`http://127.0.0.1:${port}/`);
  return {
    target: targetAt(url, [{ address: "127.0.0.1", family: 4 }]),
    /** Blocks this thread, so that it reads nothing before the server has closed the connection. */
    waitUntilClosed: () => Atomics.wait(closed, 0, 0, 60_000),
  };
}

const body = Buffer.alloc(6_000_000, 97);
const { signal } = new AbortController();

const read = async (response: IncomingMessage) => [response.statusCode, await text(response)];

test("a response that arrives before the body is written is read", async () => {
  const { target, waitUntilClosed } = await earlyServer(false);
  const sent = target.send({ method: "POST", headers: [], body }, signal);
  // Node connects in one of the next ticks.
  for (let tick = 0; tick < 5; tick += 1) await new Promise((resolve) => process.nextTick(resolve));
  waitUntilClosed();
  expect(await read(await sent)).toEqual([413, "too large"]);
});

test("a response that arrives while the body is written is read", async () => {
  const { target, waitUntilClosed } = await earlyServer(true);
  const { length } = body;
  const sending = target.open({ method: "POST", headers: [], length }, signal);
  const responded = once(sending, "response") as Promise<[IncomingMessage]>;
  sending.on("error", () => {});
  await new Promise((resolve) => sending.write(body.subarray(0, 1), resolve));
  waitUntilClosed();
  sending.end(body.subarray(1));
  expect(await read((await responded)[0])).toEqual([413, "too large"]);
});
