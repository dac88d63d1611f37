import { memoryStore, type DeliveryStore, type StoreCall } from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { signed } from "./support/deliveries.js";
import { call } from "./support/receivers.js";

const maxRuns = 3;

/** A worker whose store lives in its parent. It takes one delivery; its first runs kill it. */
const worker = (deadlyRuns: number) => `
  import { createReceiver } from "@svc-webhooks/core";

  const waiting = new Map();
  const ask = (operation) => (key, request) =>
    new Promise((resolve) => {
      waiting.set(waiting.size, resolve);
      process.send({ id: waiting.size - 1, operation, key, request });
    });
  // Sent before anything else happens: what comes after it may be the end.
  const tell = (fact) => new Promise((resolve) => process.send({ fact }, resolve));

  const receiver = createReceiver({
    secret: "whsec_test",
    name: "billing",
    store: {
      shared: true,
      claim: ask("claim"),
      complete: ask("complete"),
      release: ask("release"),
      extend: ask("extend"),
      forget: ask("forget"),
    },
    maxRuns: ${maxRuns},
    onParked: (error, { run }) => tell(\`run \${run} parked: \${error.message}\`),
    on: {
      "*": async (_event, { run }) => {
        await tell(\`run \${run} started\`);
        if (run <= ${deadlyRuns}) process.kill(process.pid, "SIGKILL");
      },
    },
  });
  process.on("message", async ({ delivery, id, result }) => {
    if (!delivery) return waiting.get(id)(result);
    const { code, status } = await receiver.receive(delivery);
    await tell(\`answered \${code} \${status}\`);
    process.disconnect();
  });
`;

type Question =
  | { readonly fact: string }
  | {
      readonly id: number;
      readonly operation: "claim" | "complete" | "release" | "extend";
      readonly key: string;
      readonly request: Parameters<DeliveryStore["release"]>[1];
    };

interface Life {
  /** What it told of itself. */
  readonly facts: readonly string[];
  readonly endedBy: string;
}

/** One process that takes the delivery, from its start to its end. */
async function live(store: DeliveryStore, deadlyRuns: number, storeCall: StoreCall): Promise<Life> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", worker(deadlyRuns)], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Bytes arrive as bytes.
    serialization: "advanced",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const facts: string[] = [];
  child.on("message", (question: Question) => {
    if ("fact" in question) facts.push(question.fact);
    else {
      const { id, operation, key, request } = question;
      void Promise.resolve(store[operation](key, request, storeCall)).then((result) =>
        child.send({ id, result }),
      );
    }
  });
  // All that it said is read when its channel is closed.
  const ended = Promise.all([once(child, "exit"), once(child, "disconnect")]);
  const { method, headers, body } = await signed();
  child.send({ delivery: { method, headers, body } });
  const [[exitCode, signal]] = (await ended) as [[number | null, string | null], unknown];
  return { facts, endedBy: signal ?? `exit ${exitCode}` };
}

/** Processes on one store, one after the other. */
function bench(deadlyRuns: number) {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  return {
    next: () => live(store, deadlyRuns, call),
    /** The store's clock alone decides when the claim of a dead process ends. */
    endLease: () => clock.jump(30_000),
  };
}

const killedIn = (run: number): Life => ({ facts: [`run ${run} started`], endedBy: "SIGKILL" });

describe(`a handler that kills its process, with maxRuns ${maxRuns},`, () => {
  test("is started that many times, never again, and its event is parked", async () => {
    const { next, endLease } = bench(Infinity);
    for (let run = 1; run <= maxRuns; run += 1) {
      expect(await next()).toEqual(killedIn(run));
      endLease();
    }
    expect(await next()).toEqual({
      facts: ["run 4 parked: given up after 3 runs", "answered parked 200"],
      endedBy: "exit 0",
    });
    expect(await next()).toEqual({ facts: ["answered parked 200"], endedBy: "exit 0" });
  });

  test("and whose sender comes back before the lease has ended, is not parked for that", async () => {
    const { next, endLease } = bench(Infinity);
    expect(await next()).toEqual(killedIn(1));
    for (let copy = 1; copy <= maxRuns; copy += 1) {
      expect(await next()).toEqual({ facts: ["answered in_flight 503"], endedBy: "exit 0" });
    }
    endLease();
    expect(await next()).toEqual(killedIn(2));
  });

  test("but survives its last run, is processed", async () => {
    const { next, endLease } = bench(maxRuns - 1);
    for (let run = 1; run < maxRuns; run += 1) {
      expect(await next()).toEqual(killedIn(run));
      endLease();
    }
    expect(await next()).toEqual({
      facts: ["run 3 started", "answered processed 200"],
      endedBy: "exit 0",
    });
    expect(await next()).toEqual({ facts: ["answered duplicate 200"], endedBy: "exit 0" });
  });
});
