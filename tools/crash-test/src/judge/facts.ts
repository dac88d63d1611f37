import type { Crossing, History } from "../history.js";

/** Matches an empty text, and the texts that JavaScript writes for a missing value or an object. */
const notKey = /^\s*(?:undefined|null|NaN|\[object \w+\])?\s*$/;

/**
 * Returns a text or a number as an idempotency key. Returns undefined for any other value, and for a text such as
 * `undefined` or `[object Object]`, which is the result of a mistake and the same for each event.
 */
export function keyIn(value: unknown): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && !notKey.test(text) ? text : undefined;
}

/** Returns whether requests with this HTTP method change nothing (RFC 9110, section 9.2.1). */
export const isReading = (method: string): boolean => /^(?:GET|HEAD|OPTIONS)$/.test(method);

/** Returns whether equal requests with this HTTP method together have the effect of one (RFC 9110, section 9.2.2). */
export const isIdempotent = (method: string): boolean => /^(?:PUT|DELETE)$/.test(method);

/** Returns the name of an event as the report writes it: `evt_1` for the first event. */
export const eventName = (event: number): string => `evt_${event + 1}`;

/** One occurrence of an effect. */
export interface Effect {
  readonly crossing: number;
  /** The event, as an index into the events. Absent if unknown. */
  readonly event: number | undefined;
}

/** A history, indexed by effect and by attempt. */
export class Facts {
  readonly #history: History;
  /** The names of the calls that had an effect, in the order of their first calls. */
  readonly callNames: readonly string[];
  readonly #effects = new Map<string, Effect[]>();
  readonly #crossings = new Map<string, Crossing[]>();
  readonly #ofAttempts = new Map<number, Crossing[]>();
  readonly #unkeyed = new Set<string>();

  constructor(history: History) {
    this.#history = history;
    const keys = new Set<string>();
    for (const { name, key, crossing, event } of history.calls) {
      if (key === undefined) this.#unkeyed.add(name);
      const id = JSON.stringify([name, key]);
      if (key === undefined || !keys.has(id)) push(this.#effects, name, { crossing, event });
      keys.add(id);
    }
    this.callNames = [...this.#effects.keys()];
    for (const crossing of history.crossings) {
      const { n, kind, attempt, effects } = crossing;
      if (attempt !== undefined) push(this.#ofAttempts, attempt, crossing);
      for (const name of new Set(effects)) {
        push(this.#crossings, name, crossing);
        if (kind !== "statement" || !isExecuted(crossing)) continue;
        push(this.#effects, name, { crossing: n, event: this.eventOf(crossing) });
      }
    }
  }

  /**
   * Returns the occurrences of an effect, in order: calls, of which each key counts once, then statements.
   *
   * @param event selects the occurrences of this event. An occurrence whose event is unknown belongs to every event
   */
  effects(name: string, event?: number): readonly Effect[] {
    const effects = this.#effects.get(name) ?? [];
    if (event === undefined) return effects;
    return effects.filter((effect) => (effect.event ?? event) === event);
  }

  /** Returns the crossings that may have an effect, executed or not. */
  crossings(effect: string): readonly Crossing[] {
    return this.#crossings.get(effect) ?? [];
  }

  /** Returns whether each call with this name that had an effect has a key or an identity. */
  isKeyed(name: string): boolean {
    return !this.#unkeyed.has(name);
  }

  /** Returns the event on whose behalf a crossing was made, or undefined if it is unknown. */
  eventOf({ attempt }: Crossing): number | undefined {
    return attempt === undefined ? undefined : this.#history.attempts[attempt]?.event;
  }

  /** Returns the crossings of an attempt, by its index in the attempts. */
  ofAttempt(attempt: number): readonly Crossing[] {
    return this.#ofAttempts.get(attempt) ?? [];
  }

  /** Returns whether an attempt was acknowledged as processed, but made no call that may have the effect. */
  endsBefore(attempt: number, effect: string): boolean {
    const may = this.ofAttempt(attempt).some(({ effects }) => effects.includes(effect));
    return !may && this.#isProcessed(attempt);
  }

  /** Returns whether an attempt was acknowledged as processed, although none of its calls had the effect. */
  endsWithout(attempt: number, effect: string): boolean {
    const has = this.ofAttempt(attempt).some(
      (crossing) => crossing.effects.includes(effect) && isExecuted(crossing),
    );
    return !has && this.#isProcessed(attempt);
  }

  #isProcessed(attempt: number): boolean {
    const { status = 0, code = "processed" } = this.#history.attempts[attempt] ?? {};
    return status >= 200 && status < 300 && code === "processed";
  }
}

const indexes = new WeakMap<History, Facts>();

/** Returns the facts of a history that has ended. Computes them once. */
export function factsOf(history: History): Facts {
  const facts = indexes.get(history) ?? new Facts(history);
  indexes.set(history, facts);
  return facts;
}

/** Returns whether a crossing was executed, and neither refused nor rolled back. */
export const isExecuted = ({ executedMs, isUndone }: Crossing): boolean =>
  executedMs !== undefined && !isUndone;

function push<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

export function countBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, number> {
  const counts = new Map<Key, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
