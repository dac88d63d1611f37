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
  return { title: "Growth", races: [...races, growthRace(races), await heapRace(100_000)] };
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
    return { title, unit: "µs", reference: lanes[0]?.name ?? "", lanes, bars: [] };
  } finally {
    for (const child of children) child.stop();
  }
}

/** Compares how the time of each store grows with its size. A store's time may grow as much as that of a Map alone. */
function growthRace(races: readonly Race[]): Race {
  const lanes = races.map(({ title, lanes: [few, many] }) => ({
    name: title,
    values: (many?.values ?? []).map((value, round) => value / (few?.values[round] ?? NaN)),
  }));
  const against = lanes[0]?.name ?? "";
  const bars = lanes
    .filter(({ name }) => name.startsWith("memoryStore"))
    .map(({ name }) => ({ lane: name, against, atMost: 1, aim: 0.8 }));
  return { title: "growth of the time", unit: "", reference: against, lanes, bars };
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
