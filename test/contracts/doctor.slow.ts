import { diagnose, targetAt } from "@svc-webhooks/cli/workbench";
import { expect, test } from "vitest";
import { planted } from "./bad-receivers.js";
import { whileServing, type HandWrittenReceiver } from "./good-receiver.js";

/** Returns what `doctor` finds in a receiver, and how often it ran the handler. */
async function diagnosed(receiver: HandWrittenReceiver) {
  let runs = 0;
  const handle = async () => void (runs += 1);
  const { findings } = await whileServing(receiver, handle, (url) =>
    diagnose({
      target: targetAt(new URL(url), [{ address: "127.0.0.1", family: 4 }]),
      secret: "whsec_test",
      timeoutMs: 30_000,
      signal: new AbortController().signal,
    }),
  );
  return { ids: findings.map(({ id }) => id), runs };
}

test.concurrent.each(planted)(
  "a bad receiver has the finding that it states, and its handler does not run: %s %s",
  async (_title, _mistake, make) => {
    const receiver = make();
    const ids = receiver.finding === undefined ? [] : [receiver.finding];
    expect(await diagnosed(receiver)).toEqual({ ids, runs: 0 });
  },
);
