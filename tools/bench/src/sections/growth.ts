import { memoryStore } from "@svc-webhooks/core";
import { startChild, type Child } from "../child.js";
import { deliveriesOf } from "../deliveries.js";
import { heapUsed } from "../growth/heap.js";
import { memoryStores } from "../growth/memory-stores.js";
import type { Race } from "../race.js";
import { ours } from "../receivers.js";
import type { RunSection } from "../sections.js";
import { nameOf } from "../store-calls.js";
import { takeTurns, type Turn } from "../turns.js";

export const run: RunSection = async (quick) => {
  const sizes = quick ? [1e3, 1e4] : [1e3, 1e6];
  const races: Race[] = [];
  for (const kind of Object.keys(memoryStores)) races.push(await timeRace(kind, sizes, quick));
  races.push(await heapRace(100_000));
  return { title: "Growth", races };
};

const bar = {
  atMost: 2,
  aim: 1.5,
  limit:
    "The cause is memory latency: between these sizes, even a Map alone slows down more than the store does. The " +
    "store accounts for only a small part of the time that `receive()` takes.",
};

async function timeRace(title: string, sizes: readonly number[], quick: boolean): Promise<Race> {
  const turns: Record<string, Turn> = {};
  const children: Child[] = [];
  try {
    for (const size of sizes) {
      const child = startChild("growth/memory-process.js", [title, String(size)]);
      children.push(child);
      await child.reply();
      // In a full run, a turn is long enough for several garbage collections.
      turns[nameOf(size)] = async () => Number(await child.reply(quick ? "1" : "100"));
    }
    const lanes = await takeTurns(turns, quick ? 1 : 12);
    const [reference = "", lane = ""] = sizes.map(nameOf);
    const bars = title.startsWith("memoryStore") ? [{ lane, against: reference, ...bar }] : [];
    return { title, unit: "µs", reference, lanes, bars };
  } finally {
    for (const child of children) child.stop();
  }
}

/** Measures the heap that a receiver uses per completed delivery. */
async function heapRace(records: number): Promise<Race> {
  const next = deliveriesOf(1_024);
  const before = heapUsed();
  const receive = ours(() => {}, { store: memoryStore({ maxRecords: records }) });
  for (let n = 0; n < records; n++) await receive(next());
  const lanes = [{ name: nameOf(records), values: [(heapUsed() - before) / records] }];
  // This call keeps the receiver alive until the second measurement of the heap.
  await receive(next());
  return { title: "memoryStore, heap per record", unit: "B", lanes, bars: [] };
}
