import type { FindingKind, History, WorldState } from "../history.js";
import { countBy, eventName, factsOf, type Facts } from "./facts.js";
import { maskOf, partsOf, without, type Mask, type Part, type Parts } from "./state.js";

/** A deviation of one history from the expected result. */
export interface Deviation {
  readonly kind: FindingKind;
  readonly effect: string;
  /** The event that the deviation concerns. Absent if unknown. */
  readonly event?: number | undefined;
}

/** Returns the name of a deviation or a finding, by which the option `accept` refers to it: `duplicate charge`. */
export const nameOf = ({ kind, effect }: Pick<Deviation, "kind" | "effect">): string =>
  `${kind} ${effect}`;

/** The expected result of each history: that of handling each event once, in order. */
export interface Expected {
  readonly undisturbed: History;
  readonly mask: Mask;
  readonly start: Parts;
  readonly end: Parts;
  /** The states at the end of histories that deliver the events in another order. */
  readonly reordered: readonly Parts[];
  /** The effects of each event. */
  readonly ofEvents: readonly (readonly EventEffect[])[];
}

/** An effect of one event: calls, or the change of a table or an observed value. */
export type EventEffect =
  | { readonly type: "call"; readonly name: string; readonly count: number }
  | {
      readonly type: "part";
      readonly name: string;
      /** The rows that the event adds and that no later event changes. Undefined for a value that is not a list. */
      readonly rows: readonly string[] | undefined;
    };

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
  const ofEvents = undisturbed.acknowledged.map((_isAcknowledged, event) => {
    const isLast = event === undisturbed.acknowledged.length - 1;
    const before = states[undisturbed.afterEvents ? event : 0];
    const after = undisturbed.afterEvents && !isLast ? states[event + 1] : states.at(-1);
    return [...callsOf(undisturbed, event), ...changed(before, after, states.at(-1))];
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

/** Returns the calls of an event. A call whose event is unknown belongs to every event. */
function callsOf(history: History, event: number): readonly EventEffect[] {
  const facts = factsOf(history);
  return facts.callNames.flatMap((name): readonly EventEffect[] => {
    const count = facts.effects(name, event).length;
    return count > 0 ? [{ type: "call", name, count }] : [];
  });
}

function changed(
  before: Parts | undefined,
  after: Parts | undefined,
  end: Parts | undefined,
): readonly EventEffect[] {
  return [...(after ?? [])].flatMap(([name, part]): readonly EventEffect[] => {
    const old = before?.get(name);
    if (part.text === (old?.text ?? "")) return [];
    if (!part.rows) return [{ type: "part", name, rows: undefined }];
    const added = without(part.rows, old?.rows ?? []);
    const last = end?.get(name)?.rows ?? [];
    return [{ type: "part", name, rows: added.filter((row) => last.includes(row)) }];
  });
}

/** A history that is compared with the expected result. */
interface Compared {
  readonly history: History;
  readonly facts: Facts;
  /** The last state of the history. */
  readonly end: Parts;
  readonly expected: Expected;
}

/** Returns the deviations of a history from the expected result, duplicate calls first. */
export function deviationsOf(history: History, expected: Expected): readonly Deviation[] {
  const end = partsOf(history.end, expected.mask);
  const compared = { history, facts: factsOf(history), end, expected };
  const isStuck = history.stuck !== undefined || !history.acknowledged.every(Boolean);
  return [
    ...duplicateCalls(compared),
    ...deviatingParts(compared),
    ...missingEffects(compared),
    ...(isStuck ? [{ kind: "stuck", effect: stuckEffect(history) } as const] : []),
  ];
}

/** Returns whether an effect is judged. An effect that occurs only with a fault, such as a refund, is not. */
const isJudged = ({ ofEvents }: Expected, name: string): boolean =>
  ofEvents.some((effects) => effects.some((effect) => effect.name === name));

const callsIn = (effects: readonly EventEffect[], name: string): number =>
  effects.flatMap((effect) =>
    effect.type === "call" && effect.name === name ? [effect.count] : [],
  )[0] ?? 0;

function duplicateCalls(compared: Compared): readonly Deviation[] {
  const { facts, expected } = compared;
  const judged = facts.callNames.filter(
    (name) => isJudged(expected, name) && !isShared(compared, name),
  );
  return judged.flatMap((effect): readonly Deviation[] => {
    const allowed = expected.ofEvents.map((effects) => callsIn(effects, effect));
    const counts = countBy(facts.effects(effect), ({ event }) => event);
    return Array.from(counts).flatMap(([event, count]): readonly Deviation[] => {
      const most = event === undefined ? Math.max(0, ...allowed) : (allowed[event] ?? 0);
      return count > most ? [{ kind: "duplicate", effect, event }] : [];
    });
  });
}

/** Returns whether a call always has a key, and has as many effects as without a fault. Equal keys share an effect. */
function isShared({ facts, expected }: Compared, name: string): boolean {
  const count = facts.effects(name).length;
  const normal = factsOf(expected.undisturbed).effects(name).length;
  return facts.isKeyed(name) && count > 0 && count === normal;
}

/**
 * Returns a deviation for each table or observed value with too many or removed rows and, if all events are
 * acknowledged, for each with other values. Others that lack rows, or that look as if no event had changed them, are
 * left to `missingEffects`.
 */
function deviatingParts(compared: Compared): readonly Deviation[] {
  const { history, end, expected } = compared;
  const areAcknowledged = history.acknowledged.every(Boolean);
  return [...end].flatMap(([effect, part]): readonly Deviation[] => {
    if (!isJudged(expected, effect) || part.text === expected.end.get(effect)?.text) return [];
    const rows = part.rows?.length ?? 0;
    const normal = expected.end.get(effect)?.rows ?? [];
    if (rows > normal.length || isRemoved(part, normal, expected.start.get(effect))) {
      return [{ kind: "duplicate", effect }];
    }
    if (rows < normal.length || !areAcknowledged || isUnchanged(compared, effect)) return [];
    const isReordered = expected.reordered.some((parts) => parts.get(effect)?.text === part.text);
    return [{ kind: isReordered ? "order_dependent" : "different", effect }];
  });
}

/** Returns whether rows are missing, all of which existed at the start. A second run has probably removed them. */
function isRemoved(
  { rows = [] }: Part,
  normal: readonly string[],
  start: Part | undefined,
): boolean {
  const removed = without(normal, rows);
  return rows.length < normal.length && without(removed, start?.rows ?? []).length === 0;
}

/**
 * Returns whether a table looks as if no event had changed it. Such a table is `lost` or `partial`, not `different`,
 * unless it was written more often than without a fault.
 */
function isUnchanged({ facts, end, expected }: Compared, name: string): boolean {
  const part = end.get(name);
  const before = expected.start.get(name)?.text ?? "";
  const normal = factsOf(expected.undisturbed).effects(name).length;
  const isWrittenMore = facts.effects(name).length > normal;
  return part?.text === before && expected.end.get(name)?.text !== before && !isWrittenMore;
}

/** Returns the effects that acknowledged events lack. The sender still has the other events, so they are not lost. */
function missingEffects(compared: Compared): readonly Deviation[] {
  const { history, expected } = compared;
  return history.acknowledged.flatMap((isAcknowledged, event): readonly Deviation[] => {
    if (!isAcknowledged) return [];
    const effects = (expected.ofEvents[event] ?? []).map((effect) => ({
      name: effect.name,
      presence: presenceOf(compared, effect, event),
    }));
    const isSome = effects.some(({ presence }) => presence === "present" || presence === "partial");
    const kind = isSome ? "partial" : "lost";
    return effects.flatMap(({ name, presence }) =>
      presence === "partial" || presence === "absent" ? [{ kind, effect: name, event }] : [],
    );
  });
}

/**
 * Returns how much of an event's effect is present. Undefined if a table has at least as many rows as without a fault,
 * but none of the event's. `deviatingParts` reports this case.
 */
function presenceOf(
  compared: Compared,
  effect: EventEffect,
  event: number,
): "present" | "partial" | "absent" | undefined {
  const { facts, end, expected } = compared;
  const { name } = effect;
  if (effect.type === "call") {
    const { length } = facts.effects(name, event);
    if (length >= effect.count || isShared(compared, name)) return "present";
    return length > 0 ? "partial" : "absent";
  }
  if (isUnchanged(compared, name)) return "absent";
  const rows = end.get(name)?.rows;
  if (!effect.rows || !rows) return "present";
  const lacking = without(effect.rows, rows).length;
  if (lacking === 0) return "present";
  const isNone = lacking === effect.rows.length;
  if (rows.length >= (expected.end.get(name)?.rows?.length ?? 0)) {
    return isNone ? undefined : "present";
  }
  return isNone ? "absent" : "partial";
}

const stuckEffect = ({ stuck, crossings, acknowledged }: History): string => {
  const last = stuck?.crossing === undefined ? undefined : crossings[stuck.crossing - 1];
  const crossing = crossings.find(({ waitsForOwn }) => waitsForOwn) ?? last;
  if (crossing?.waitsForOwn === true && crossing.kind === "store") return "transaction";
  if (crossing) return crossing.effects[0] ?? crossing.reads[0] ?? crossing.name;
  if (stuck?.transaction !== undefined) return "transaction";
  return eventName(acknowledged.indexOf(false));
};
