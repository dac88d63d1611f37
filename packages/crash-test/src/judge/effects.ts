import type { Crossing, History } from "../history.js";

/** An empty text, and those that JavaScript writes for a value that is missing or that is not a text. */
const notKey = /^\s*(?:undefined|null|NaN|\[object \w+\])?\s*$/;

/** Returns an idempotency key, or undefined for a value that is the same for each event by mistake. */
export function keyIn(value: unknown): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && !notKey.test(text) ? text : undefined;
}

/** One occurrence of an effect. */
export interface Effect {
  readonly crossing: number;
  /** An index into the events. Absent if unknown. */
  readonly event: number | undefined;
}

/** Returns the occurrences of an effect, in order: calls, of which each key counts once, and statements. */
export function effectsOf(history: History, effect: string): readonly Effect[] {
  const keys = new Set<string>();
  const calls = history.calls.filter(({ name, key }) => {
    if (name !== effect || (key !== undefined && keys.has(key))) return false;
    if (key !== undefined) keys.add(key);
    return true;
  });
  const statements = history.crossings.filter(
    ({ kind, effects, executedMs, isUndone }) =>
      kind === "statement" && effects.includes(effect) && executedMs !== undefined && !isUndone,
  );
  return [
    ...calls.map(({ crossing, event }) => ({ crossing, event })),
    ...statements.map((crossing) => ({ crossing: crossing.n, event: eventOf(history, crossing) })),
  ];
}

/** Returns the event on whose behalf a crossing was made. */
export const eventOf = ({ attempts }: History, { attempt }: Crossing): number | undefined =>
  attempt === undefined ? undefined : attempts[attempt]?.event;

/** Returns the crossings that may have an effect, executed or not. */
export const crossingsOf = ({ crossings }: History, effect: string): readonly Crossing[] =>
  crossings.filter(({ effects }) => effects.includes(effect));

/** Returns whether an attempt was acknowledged as processed, but ended before a call that has the effect. */
export const endsBefore = (history: History, at: number, effect: string): boolean =>
  isProcessed(history, at) &&
  !history.crossings.some(({ attempt, effects }) => attempt === at && effects.includes(effect));

/** Returns whether an attempt was acknowledged as processed, but has no effect: it made no such call, or undid it. */
export const endsWithout = (history: History, at: number, effect: string): boolean =>
  isProcessed(history, at) &&
  !history.crossings.some(
    ({ attempt, effects, executedMs, isUndone }) =>
      attempt === at && effects.includes(effect) && executedMs !== undefined && !isUndone,
  );

function isProcessed({ attempts }: History, at: number): boolean {
  const { status = 0, code = "processed" } = attempts[at] ?? {};
  return status >= 200 && status < 300 && code === "processed";
}

export function countBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, number> {
  const counts = new Map<Key, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
