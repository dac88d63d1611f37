import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { diagnose, targetAt } from "svc-webhooks/workbench";
import { expect, test } from "vitest";
import { planted } from "./bad-receivers.js";
import { serving, type HandWrittenReceiver } from "./good-receiver.js";
import { secret } from "./mounted-receivers.js";

/** Returns what `doctor` finds in a receiver, and how often it ran the handler. */
async function diagnosed(receiver: HandWrittenReceiver) {
  let runs = 0;
  const server = createServer(
    serving(receiver, () => {
      runs += 1;
      return Promise.resolve();
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  const url = new URL(`http://${address}:${port}/`);
  try {
    const { findings } = await diagnose({
      target: targetAt(url, [{ address, family: 4 }], true),
      secret,
      timeoutMs: 30_000,
      signal: new AbortController().signal,
    });
    return { ids: findings.map(({ id }) => id), runs };
  } finally {
    // Vitest would call `onTestFinished` of another test that runs at the same time.
    server.close();
    server.closeAllConnections();
  }
}

test.concurrent.each(planted)(
  "a bad receiver has the finding that it states, and its handler does not run: %s %s",
  async (_title, _mistake, make) => {
    const receiver = make();
    const ids = receiver.finding === undefined ? [] : [receiver.finding];
    expect(await diagnosed(receiver)).toEqual({ ids, runs: 0 });
  },
);
