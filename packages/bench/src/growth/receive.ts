import { checkReceiver } from "../check-receiver.js";
import { copiesOf } from "../copies.js";
import { byHand, ours } from "../in-memory.js";
import { takeTurns, type Pace, type Work } from "../in-process.js";
import type { Race } from "../race.js";

const nameOf = (count: number) => `${count.toLocaleString("en")} in flight`;

/** What a delivery costs when so many handlers wait at the same time: they end when the last one has begun. */
export async function pending(counts: readonly number[], pace: Pace): Promise<Race> {
  const next = await copiesOf(1_024);
  const crowd = (count: number): Work => {
    let begun = 0;
    let end: (() => void) | undefined;
    let ended: Promise<void> | undefined;
    const receive = ours(() => {
      begun += 1;
      if (begun === count) end?.();
      return ended;
    });
    return async () => {
      begun = 0;
      ended = new Promise((resolve) => (end = resolve));
      await Promise.all(Array.from({ length: count }, () => receive(next())));
    };
  };
  const contenders = Object.fromEntries(counts.map((count) => [nameOf(count), crowd(count)]));
  const lanes = await takeTurns(contenders, pace);
  return {
    title: "receive(), handlers that wait",
    unit: "µs",
    better: "less",
    reference: nameOf(1),
    lanes: lanes.map(({ name, values }, index) => ({
      name,
      values: values.map((us) => us / (counts[index] ?? NaN)),
    })),
    bars: [],
  };
}

/** What a delivery costs that is of this size. */
export async function bodies(sizes: Readonly<Record<string, number>>, pace: Pace): Promise<Race[]> {
  await checkReceiver(byHand);
  await checkReceiver(ours);
  const races: Race[] = [];
  for (const [name, bytes] of Object.entries(sizes)) {
    const next = await copiesOf(bytes);
    const [theirs, our] = [byHand(() => {}), ours(() => {})];
    races.push({
      title: `receive(), ${name}`,
      unit: "µs",
      better: "less",
      reference: "by hand",
      lanes: await takeTurns(
        { "by hand": () => theirs(next()), "svc-webhooks": () => our(next()) },
        pace,
      ),
      bars: [],
    });
  }
  return races;
}
