import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createReceiver, memoryStore, type Receiver } from "@svc-webhooks/core";
import { copiesOf, type Delivered } from "../copies.js";
import { eventType, secret } from "../deliveries.js";
import { takeTurns, type Pace, type Work } from "../in-process.js";
import type { Lane, Race } from "../race.js";
import { records } from "./records.js";
import type { StandingKind } from "./standing-store.js";

const file = fileURLToPath(new URL("standing-process.js", import.meta.url));

// Some 10 ms of work for each message to a process, which takes some 0.1 ms.
const together = 10_000;

const promise = {
  atMost: 2,
  aim: 1.5,
  limit:
    "memory. A Map alone, with nothing around it, loses more between these sizes than the store " +
    "does; of a whole `receive()` it is a small part.",
};

const promised: ReadonlySet<StandingKind> = new Set([
  "memoryStore below capacity",
  "memoryStore at capacity",
]);

/** What a delivery costs where so many are remembered already. */
export async function memoryClaims(
  kind: StandingKind,
  sizes: readonly number[],
  pace: Pace,
): Promise<Race> {
  const processes: ChildProcess[] = [];
  const contenders: Record<string, Work> = {};
  for (const size of sizes) {
    const child = fork(file, [kind, String(size)]);
    processes.push(child);
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`a memory store of ${records(size)} has ended with ${code}`);
    });
    const answered = () => Promise.race([once(child, "message"), ended]);
    await answered();
    contenders[records(size)] = () => {
      child.send(together);
      return answered();
    };
  }
  const lanes = await takeTurns(contenders, pace);
  for (const child of processes) child.disconnect();
  const [smallest = NaN, biggest = NaN] = [sizes[0], sizes.at(-1)];
  return {
    title: kind,
    unit: "µs",
    better: "less",
    reference: records(smallest),
    lanes: lanes.map(({ name, values }) => ({ name, values: values.map((us) => us / together) })),
    bars: promised.has(kind)
      ? [{ lane: records(biggest), against: records(smallest), ...promise }]
      : [],
  };
}

/** What a done delivery takes of the heap: everything that a receiver keeps of it. */
export async function memoryHeap(sizes: readonly number[], atLeast: number): Promise<Race> {
  const next = await copiesOf(1_024);
  const lanes: Lane[] = [];
  for (const size of sizes) {
    const bytes = await bytesEach(size, atLeast, next);
    lanes.push({ name: records(size), values: [bytes] });
  }
  return {
    title: "memoryStore, heap of a done delivery",
    unit: "B",
    better: "less",
    reference: records(sizes[0] ?? NaN),
    lanes,
    bars: [],
  };
}

async function bytesEach(size: number, atLeast: number, next: () => Delivered): Promise<number> {
  const before = heapUsed();
  const receivers: Receiver[] = [];
  // Several small ones, because what the compiler leaves on the heap is no record.
  while (receivers.length * size < atLeast) {
    const store = memoryStore({ maxRecords: size });
    const receiver = createReceiver({ secret, store, on: { [eventType]: () => {} } });
    for (let n = 0; n < size; n++) await receiver.receive({ method: "POST", ...next() });
    receivers.push(receiver);
  }
  return (heapUsed() - before) / size / receivers.length;
}

function heapUsed(): number {
  if (!globalThis.gc) throw new Error("the heap is measured under node --expose-gc");
  // Twice, for what the first time has let go.
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
