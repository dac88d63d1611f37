import { canHappen, faultKinds, placeOf, type Fault, type FaultKind } from "../faults.js";
import type { Crossing, History } from "../history.js";

/** The parts of a history that {@link extensionsOf} needs. The history has no finding. */
export interface Base {
  readonly faults: readonly Fault[];
  readonly crossings: readonly Pick<Crossing, "kind" | "executedMs" | "isRequest">[];
}

export const baseOf = ({ faults, crossings }: History): Base => ({
  faults,
  crossings: crossings.map(({ kind, executedMs, isRequest }) => ({ kind, executedMs, isRequest })),
});

/** Returns the history's faults plus one more: a list for each later point and each kind that can happen there. */
export function extensionsOf(
  { faults, crossings }: Base,
  kinds: readonly FaultKind[] = faultKinds,
): readonly (readonly Fault[])[] {
  const last = faults.at(-1)?.point ?? 0;
  const extensions: (readonly Fault[])[] = [];
  for (let point = last + 1; point <= crossings.length * 2; point += 1) {
    const { crossing: n, isAfter } = placeOf(point);
    const crossing = crossings[n - 1];
    if (!crossing || (isAfter && crossing.executedMs === undefined)) continue;
    for (const kind of faultKinds) {
      const isWanted = kinds.includes(kind) && canHappen(kind, isAfter, crossing);
      if (isWanted) extensions.push([...faults, { kind, point }]);
    }
  }
  return extensions;
}

/** Selects `count` items, the same items for the same seed, and keeps their order. */
export function sample<Item>(items: readonly Item[], count: number, seed: number): readonly Item[] {
  if (items.length <= count) return items;
  const random = randomOf(seed);
  const places = items.map((_item, index) => index);
  for (let index = 0; index < count; index += 1) {
    const other = index + Math.floor(random() * (places.length - index));
    [places[index], places[other]] = [places[other] ?? 0, places[index] ?? 0];
  }
  const selected = new Set(places.slice(0, count));
  return items.filter((_item, index) => selected.has(index));
}

/** Returns a generator of pseudorandom numbers (mulberry32), at least 0 and below 1. Equal seeds give equal numbers. */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
