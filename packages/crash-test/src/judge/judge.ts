import type { FindingKind, History, WorldState } from "../history.js";
import { countBy, effectsOf } from "./effects.js";
import { maskOf, partsOf, without, type Mask, type Part, type Parts } from "./state.js";

/** A deviation of one history from the expected result. */
export interface Deviation {
  readonly kind: FindingKind;
  readonly effect: string;
  /** The event that it concerns. Absent if unknown. */
  readonly event?: number | undefined;
}

/** The result that each history is compared with: that of each event once, in order. */
export interface Expected {
  readonly undisturbed: History;
  readonly mask: Mask;
  readonly start: Parts;
  readonly end: Parts;
  /** The states that the events result in when they are delivered in another order. */
  readonly reordered: readonly Parts[];
  /** The effects of each event: calls with their number, and the tables and values that it changes. */
  readonly ofEvents: readonly EventEffects[];
}

interface EventEffects {
  readonly calls: ReadonlyMap<string, number>;
  readonly parts: readonly PartEffect[];
}

/** The change of a table or an observed value by one event. */
interface PartEffect {
  readonly name: string;
  /** The rows that it adds and that no later event changes. Undefined for a value that is not a list. */
  readonly rows: readonly string[] | undefined;
}

export function expectedOf(
  undisturbed: History,
  shifted: History,
  reordered: readonly History[],
): Expected {
  const mask = maskOf(undisturbed.end, shifted.end);
  const none: WorldState = { tables: {}, observed: {} };
  const states = [
    undisturbed.start ?? none,
    ...(undisturbed.afterEvents ?? []),
    undisturbed.end,
  ].map((state) => partsOf(state, mask));
  const ofEvents = undisturbed.acknowledged.map((_isAcknowledged, event): EventEffects => {
    const isLast = event === undisturbed.acknowledged.length - 1;
    const before = states[undisturbed.afterEvents ? event : 0];
    const after = undisturbed.afterEvents && !isLast ? states[event + 1] : states.at(-1);
    return { calls: callsOf(undisturbed, event), parts: changed(before, after, states.at(-1)) };
  });
  return {
    undisturbed,
    mask,
    start: states[0] ?? new Map(),
    end: states.at(-1) ?? new Map(),
    reordered: reordered.map((history) => partsOf(history.end, mask)),
    ofEvents,
  };
}

const callNames = ({ calls }: History): readonly string[] => [
  ...new Set(calls.map(({ name }) => name)),
];

/** Counts the calls of an event by name; each key counts once. A call whose event is unknown belongs to each. */
const callsOf = (history: History, event: number): ReadonlyMap<string, number> => {
  const counts = callNames(history).map((name) => {
    const all = effectsOf(history, name).filter((one) => (one.event ?? event) === event);
    return [name, all.length] as const;
  });
  return new Map(counts.filter(([, count]) => count > 0));
};

function changed(
  before: Parts | undefined,
  after: Parts | undefined,
  end: Parts | undefined,
): readonly PartEffect[] {
  return [...(after ?? [])].flatMap(([name, part]): readonly PartEffect[] => {
    const old = before?.get(name);
    if (part.text === (old?.text ?? "")) return [];
    if (!part.rows) return [{ name, rows: undefined }];
    const added = without(part.rows, old?.rows ?? []);
    const kept = end?.get(name)?.rows ?? [];
    return [{ name, rows: added.filter((row) => kept.includes(row)) }];
  });
}

/** Returns how a history deviates from the expected result, in the order of severity. */
export function deviationsOf(history: History, expected: Expected): readonly Deviation[] {
  const end = partsOf(history.end, expected.mask);
  const areAcknowledged = history.acknowledged.every(Boolean);
  const found: Deviation[] = [...duplicateCalls(history, expected)];

  for (const [name, part] of end) {
    if (!isJudged(expected, name)) continue;
    const kind = deviationOf(part, expected.end.get(name), expected.start.get(name));
    if (kind === "duplicate") found.push({ kind, effect: name });
    if (kind !== "different" || !areAcknowledged) continue;
    const isReordered = expected.reordered.some((parts) => parts.get(name)?.text === part.text);
    if (isUnchanged(history, expected, name, part)) continue;
    found.push({ kind: isReordered ? "order_dependent" : kind, effect: name });
  }
  found.push(...missing(history, expected, end));
  if (history.stuck || !areAcknowledged)
    found.push({ kind: "stuck", effect: stuckEffect(history) });
  return found;
}

/** An effect that no event has without a fault, such as an alert or a refund, is not judged. */
const isJudged = ({ ofEvents }: Expected, name: string): boolean =>
  ofEvents.some(({ calls, parts }) => calls.has(name) || parts.some((part) => part.name === name));

/**
 * A table that looks as if the event had not changed it is `lost` or `partial`, not `different`, unless it was written
 * more often than without a fault.
 */
function isUnchanged(
  history: History,
  { undisturbed, start, end }: Expected,
  name: string,
  { text }: Part,
): boolean {
  const before = start.get(name)?.text ?? "";
  const isWrittenMore = effectsOf(history, name).length > effectsOf(undisturbed, name).length;
  return text === before && end.get(name)?.text !== before && !isWrittenMore;
}

function deviationOf(
  found: Part,
  expected: Part | undefined,
  start: Part | undefined,
): "duplicate" | "different" | "missing" | undefined {
  if (found.text === expected?.text) return undefined;
  const [rows, wanted] = [found.rows ?? [], expected?.rows ?? []];
  if (rows.length > wanted.length) return "duplicate";
  if (rows.length === wanted.length) return "different";
  // Rows of the start that should have stayed were removed by a second run.
  const removed = without(wanted, rows);
  return without(removed, start?.rows ?? []).length === 0 ? "duplicate" : "missing";
}

function duplicateCalls(history: History, expected: Expected): readonly Deviation[] {
  const judged = callNames(history).filter(
    (name) => isJudged(expected, name) && !isShared(history, expected, name),
  );
  return judged.flatMap((effect): readonly Deviation[] => {
    const counts = countBy(effectsOf(history, effect), ({ event }) => event);
    return Array.from(counts).flatMap(([event, count]): readonly Deviation[] => {
      const allowed =
        event === undefined
          ? Math.max(0, ...expected.ofEvents.map(({ calls }) => calls.get(effect) ?? 0))
          : (expected.ofEvents[event]?.calls.get(effect) ?? 0);
      return count > allowed ? [{ kind: "duplicate", effect, event }] : [];
    });
  });
}

/** Events that pass the same key have one effect together, whichever of them is handled first. */
function isShared(history: History, { undisturbed }: Expected, name: string): boolean {
  const isKeyed = history.calls.every((call) => call.name !== name || call.key !== undefined);
  const count = effectsOf(history, name).length;
  return isKeyed && count > 0 && count === effectsOf(undisturbed, name).length;
}

/** The effects that an acknowledged event lacks. The sender still has an event that is not acknowledged. */
function missing(history: History, expected: Expected, end: Parts): readonly Deviation[] {
  return history.acknowledged.flatMap((isAcknowledged, event): readonly Deviation[] => {
    const effects = expected.ofEvents[event];
    if (!isAcknowledged || !effects) return [];
    const calls = [...effects.calls].map(([name, count]) => {
      const found = effectsOf(history, name).filter((one) => (one.event ?? event) === event);
      const isThere = found.length >= count || isShared(history, expected, name);
      return { name, isThere, isTouched: isThere || found.length > 0 };
    });
    const parts = effects.parts.map(({ name, rows }) => {
      const [found, wanted] = [end.get(name), expected.end.get(name)];
      const isChanged = !found || !isUnchanged(history, expected, name, found);
      if (!rows || !found?.rows) return { name, isThere: isChanged, isTouched: isChanged };
      const lacking = without(rows, found.rows);
      const isShort = found.rows.length < (wanted?.rows?.length ?? 0);
      return {
        name,
        isThere: isChanged && !(isShort && lacking.length > 0),
        isTouched: isChanged && lacking.length < Math.max(rows.length, 1),
      };
    });
    const all = [...calls, ...parts];
    const kind = all.some(({ isTouched }) => isTouched) ? "partial" : "lost";
    return all.flatMap(({ name, isThere }) =>
      isThere ? [] : [{ kind, effect: name, event } as const],
    );
  });
}

const stuckEffect = ({ stuck, crossings, acknowledged }: History): string => {
  const last = stuck?.crossing === undefined ? undefined : crossings[stuck.crossing - 1];
  const crossing = crossings.find(({ waitsForOwn }) => waitsForOwn) ?? last;
  if (crossing?.waitsForOwn === true && crossing.kind === "store") return "transaction";
  if (crossing) return crossing.effects[0] ?? crossing.reads[0] ?? crossing.name;
  if (stuck?.transaction !== undefined) return "transaction";
  return `evt_${acknowledged.indexOf(false) + 1}`;
};
