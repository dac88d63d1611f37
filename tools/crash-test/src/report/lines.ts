import { faultName, statusResponse } from "../faults.js";
import type { Attempt, Crossing, History, HistoryLine, Step } from "../history.js";
import { countBy, eventName, factsOf, type Facts } from "../judge/facts.js";

/**
 * Returns the lines of a history, in order. Refused attempts that only called the store have no lines of their own: a
 * remark on the next line counts them.
 *
 * @param effect the effect whose occurrences are numbered, and compared with those of `undisturbed`
 */
export function linesOf(
  history: History,
  undisturbed: History = history,
  effect?: string,
): readonly HistoryLine[] {
  const { attempts, crossings, steps } = history;
  const facts = factsOf(history);
  const normal = factsOf(undisturbed);
  const refused = new Set(
    attempts.flatMap((attempt, index) =>
      isRefused(history, facts, attempt, index) ? [index] : [],
    ),
  );
  let skipped: Attempt[] = [];
  const marks = numbered(facts, effect, normal);
  const reached = new Set(
    effect === undefined
      ? []
      : normal.crossings(effect).map((crossing) => normal.eventOf(crossing)),
  );
  const lines: HistoryLine[] = [];
  const push = (line: HistoryLine) => {
    const remark = skipped.length > 0 ? skippedText(skipped) : undefined;
    skipped = [];
    const note = [line.note, remark].filter((part) => part !== undefined).join("; ");
    lines.push({ ...line, note: note === "" ? undefined : note });
  };

  for (const step of steps) {
    const line = lineOf(step);
    if (line) push(line);
  }
  return lines;

  function lineOf(step: Step): HistoryLine | undefined {
    switch (step.type) {
      case "executed": {
        const crossing = crossingAt(crossings, step.crossing);
        if (crossing.attempt !== undefined && refused.has(crossing.attempt)) return undefined;
        const mark = marks.get(crossing.n);
        return {
          ms: step.ms,
          who: crossing.process,
          text: textOf(facts.eventOf(crossing), crossing),
          note: mark?.note,
          from: crossing.process,
          to: laneOf(crossing),
          effects:
            crossing.effects.length === 0 || crossing.isUndone ? undefined : crossing.effects,
          isExtra: mark?.isExtra,
        };
      }
      case "rejected": {
        const crossing = crossingAt(crossings, step.crossing);
        return {
          ms: step.ms,
          who: crossing.process,
          text: `${crossing.name} rejects: ${step.error}`,
          from: laneOf(crossing),
          to: crossing.process,
        };
      }
      case "fault": {
        const crossing = crossingAt(crossings, step.crossing);
        const isReply = step.isAfter || step.fault === "status";
        const place = step.isAfter
          ? "executed, reply not read"
          : step.fault === "status"
            ? `responds ${statusResponse.status}, not executed`
            : "not sent yet";
        return {
          ms: step.ms,
          who: step.process,
          text: `${faultName(step.fault)}: ${crossing.name} ${place}`,
          fault: step.fault,
          from: isReply ? laneOf(crossing) : step.process,
          to: isReply ? step.process : laneOf(crossing),
        };
      }
      case "process":
        return { ms: step.ms, who: step.process, text: step.text };
      case "attempt": {
        const attempt = attempts[step.attempt];
        if (!attempt) return undefined;
        if (refused.has(step.attempt)) {
          skipped.push(attempt);
          return undefined;
        }
        const ends = attempt.status === undefined ? {} : { from: attempt.process, to: "sender" };
        const text = attemptText(history, attempt);
        return { ms: step.ms, who: "sender", text, note: earlyEnd(step.attempt, attempt), ...ends };
      }
    }
  }

  function earlyEnd(index: number, { event }: Attempt): string | undefined {
    if (effect === undefined || !reached.has(event)) return undefined;
    return facts.endsBefore(index, effect) ? `ended before ${effect}` : undefined;
  }
}

const crossingAt = (crossings: readonly Crossing[], n: number): Crossing => {
  const crossing = crossings[n - 1];
  if (!crossing) throw new Error(`The history has no crossing ${n}.`);
  return crossing;
};

/** Names the other side of a crossing. Adds `()` to a service that has the name of another lane: `sender`, `A`. */
function laneOf({ kind, name }: Crossing): string {
  if (kind === "store") return "store";
  if (kind === "statement") return "database";
  const service = /^[A-Z]+ ([^/\s]+)/.exec(name)?.[1] ?? name;
  return /^(?:sender|store|database|[A-Z]{1,2})$/.test(service) ? `${service}()` : service;
}

/**
 * Returns whether an attempt, not a copy, only called the store, and was refused as `in_flight` or with the same result
 * as the event's attempt before it.
 */
function isRefused({ attempts }: History, facts: Facts, attempt: Attempt, index: number): boolean {
  const { event, status, code, isCopy } = attempt;
  if (isCopy || status === undefined || status < 300) return false;
  const before = attempts
    .slice(0, index)
    .findLast((earlier) => earlier.event === event && !earlier.isCopy);
  const isRepeated = before?.status === status && before.code === code;
  if (!isRepeated && code !== "in_flight") return false;
  return facts.ofAttempt(index).every(({ kind }) => kind === "store");
}

/** Writes the result of an attempt: `503 in_flight`, `no response`. */
const resultText = ({ status, code }: Attempt): string =>
  status === undefined ? "no response" : `${status}${code === undefined ? "" : ` ${code}`}`;

function skippedText(skipped: readonly Attempt[]): string {
  const counts = countBy(skipped, resultText);
  return `after ${Array.from(counts, ([result, times]) => (times === 1 ? result : `${times} × ${result}`)).join(", ")}`;
}

function textOf(event: number | undefined, { name, kind, key, note, effects }: Crossing): string {
  const remark = note === undefined ? "" : `, ${note}`;
  if (kind === "store" && event !== undefined) return `${name} ${eventName(event)}${remark}`;
  const withKey = kind === "call" && effects.length > 0 ? `, key ${key ?? "none"}` : "";
  return `${name}${withKey}${remark}`;
}

function attemptText({ acknowledged }: History, attempt: Attempt): string {
  const { event, n, isCopy } = attempt;
  const several = acknowledged.length > 1 ? ` of ${eventName(event)}` : "";
  return `${isCopy ? "copy of attempt" : "attempt"} ${n}${several}: ${resultText(attempt)}`;
}

/** Numbers the crossings that had the effect. Marks those that an event has in excess of the undisturbed history. */
function numbered(facts: Facts, effect: string | undefined, normal: Facts) {
  const marks = new Map<number, { readonly note: string; readonly isExtra: true | undefined }>();
  if (effect === undefined) return marks;
  const expected = countBy(normal.effects(effect), ({ event }) => event);
  const seen = new Map<number | undefined, number>();
  for (const { crossing, event } of facts.effects(effect)) {
    const count = (seen.get(event) ?? 0) + 1;
    seen.set(event, count);
    const isExtra = count > (expected.get(event) ?? 0);
    const note = `effect ${marks.size + 1}${isExtra ? ": duplicate" : ""}`;
    marks.set(crossing, { note, isExtra: isExtra || undefined });
  }
  return marks;
}
