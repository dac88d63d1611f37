import type { DeliveryStore } from "@svc-webhooks/core";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { signed } from "@svc-webhooks/kit/deliveries";
import { startModule } from "@svc-webhooks/kit/programs";
import { call, patient, timedStore } from "@svc-webhooks/kit/receivers";

const maxRuns = 3;

/**
 * Returns the source code of a worker that calls a store in its parent process. It receives one delivery, whose first
 * `deadlyRuns` runs kill the worker.
 */
const worker = (deadlyRuns: number) => `
  import { createReceiver } from "@svc-webhooks/core";

  const pending = new Map();
  const call = (operation) => (key, request) =>
    new Promise((resolve) => {
      pending.set(pending.size, resolve);
      process.send({ id: pending.size - 1, operation, key, request });
    });
  // Awaited, because the process may be killed right afterwards.
  const report = (line) => new Promise((resolve) => process.send({ line }, resolve));

  const receiver = createReceiver({
    secret: "whsec_test",
    name: "billing",
    store: {
      shared: true,
      ...Object.fromEntries(
        ["claim", "complete", "release", "extend", "forget"].map((name) => [name, call(name)]),
      ),
    },
    // The parent answers late when the machine is busy.
    storeTimeouts: ${JSON.stringify(patient)},
    maxRuns: ${maxRuns},
    onParked: (error, { run }) => report(\`run \${run} parked: \${error.message}\`),
    on: {
      "*": async (_event, { run }) => {
        await report(\`run \${run} started\`);
        if (run <= ${deadlyRuns}) process.kill(process.pid, "SIGKILL");
      },
    },
  });
  process.on("message", async ({ delivery, id, result }) => {
    if (!delivery) return pending.get(id)(result);
    const { code, status } = await receiver.receive(delivery);
    await report(\`responded \${code} \${status}\`);
    process.disconnect();
  });
`;

type Message =
  | { readonly line: string }
  | {
      readonly id: number;
      readonly operation: "claim" | "complete" | "release" | "extend";
      readonly key: string;
      readonly request: Parameters<DeliveryStore["release"]>[1];
    };

interface Life {
  /** The lines that the worker reported. */
  readonly lines: readonly string[];
  readonly endedBy: string;
}

/** Runs one worker process, from start to exit, and sends it the delivery. */
async function live(store: DeliveryStore, deadlyRuns: number): Promise<Life> {
  // JSON would not preserve the body's bytes.
  const child = startModule(worker(deadlyRuns), { serialization: "advanced" });
  child.stdout.pipe(process.stdout);
  const lines: string[] = [];
  child.on("message", (message: Message) => {
    if ("line" in message) lines.push(message.line);
    else {
      const { id, operation, key, request } = message;
      void Promise.resolve(store[operation](key, request, call)).then((result) =>
        // Ignores errors, because the worker may have been killed.
        child.send({ id, result }, () => {}),
      );
    }
  });
  // Once the channel is closed, all messages have been received.
  const ended = Promise.all([once(child, "exit"), once(child, "disconnect")]);
  const { method, headers, body } = await signed();
  child.send({ delivery: { method, headers, body } });
  const [[exitCode, signal]] = (await ended) as [[number | null, string | null], unknown];
  return { lines, endedBy: signal ?? `exit ${exitCode}` };
}

/** Starts processes one after another on the same store. */
function processes(deadlyRuns = Infinity) {
  const { clock, store } = timedStore();
  return {
    next: () => live(store, deadlyRuns),
    /** Expires the lease of the killed process by advancing the store's clock. */
    endLease: () => clock.jump(30_000),
  };
}

const killedIn = (run: number): Life => ({ lines: [`run ${run} started`], endedBy: "SIGKILL" });
const exited = (...lines: readonly string[]): Life => ({ lines, endedBy: "exit 0" });

describe(`a handler that kills its process, with maxRuns ${maxRuns},`, () => {
  test("is started exactly that many times, and its event is parked", async () => {
    const { next, endLease } = processes();
    for (let run = 1; run <= maxRuns; run += 1) {
      expect(await next()).toEqual(killedIn(run));
      endLease();
    }
    const parked = exited("run 4 parked: given up after 3 runs", "responded parked 200");
    expect(await next()).toEqual(parked);
    expect(await next()).toEqual(exited("responded parked 200"));
  });

  test("is not parked because copies arrive before the lease has ended", async () => {
    const { next, endLease } = processes();
    expect(await next()).toEqual(killedIn(1));
    for (let copy = 1; copy <= maxRuns; copy += 1) {
      expect(await next()).toEqual(exited("responded in_flight 503"));
    }
    endLease();
    expect(await next()).toEqual(killedIn(2));
  });

  test("has its event processed if it survives the last run", async () => {
    const { next, endLease } = processes(maxRuns - 1);
    for (let run = 1; run < maxRuns; run += 1) {
      expect(await next()).toEqual(killedIn(run));
      endLease();
    }
    expect(await next()).toEqual(exited("run 3 started", "responded processed 200"));
    expect(await next()).toEqual(exited("responded duplicate 200"));
  });
});
