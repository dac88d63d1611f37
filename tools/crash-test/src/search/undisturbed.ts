import { CrashTestError, type CrashTestFacts } from "../errors.js";
import type { History, HistoryLine, Runner, WorldState } from "../history.js";
import { factsOf, isExecuted } from "../judge/facts.js";
import { deviationsOf, expectedOf, type Deviation, type Expected } from "../judge/judge.js";
import { linesOf } from "../report/lines.js";
import { hintsFor } from "./hints.js";
import type { SearchOptions } from "./options.js";

/** The maximum number of lines of a history in an error. */
const mostLines = 12;

/**
 * Runs the histories without faults, and resolves to the expected result. If the first history reached another program
 * for real, no other history is run.
 *
 * @throws CrashTestError (as a rejection) `not_acknowledged`, `no_effect`, `nondeterministic`
 */
export async function runUndisturbed(runner: Runner, options: SearchOptions): Promise<Expected> {
  const first = await runner.run([]);
  const unacknowledged = first.acknowledged.indexOf(false);
  const isStuck = unacknowledged !== -1 || first.stuck !== undefined;
  if (isStuck && !first.stuck) {
    throw errorOf("not_acknowledged", {
      problem: `${options.events[unacknowledged]} is not acknowledged, even without a fault.`,
      lines: firstLines(first),
      hints: hintsFor(first, unacknowledged),
      unseen: first.unseen,
    });
  }
  if (first.isReal) return expectedOf(first, first, []);
  assertProcessed(first, options);
  const second = await runner.run([]);
  const written = (history: History): readonly string[] =>
    options.isExact
      ? [...writtenLines(linesOf(history)), ...callLines(history), ...stateLines(history.end)]
      : // Sorted, because the order of simultaneous calls depends on the machine.
        history.crossings.map(({ name }) => name).toSorted();
  assertSame("undisturbed ", written(first), written(second), second.unseen);
  const shifted = await runner.run([], "shifted");
  const expected = expectedOf(first, shifted, []);
  // Counts a write as an effect too: values that differ between runs are masked, so the state may show no change.
  const isWritten = first.crossings.some(
    (crossing) => crossing.effects.length > 0 && isExecuted(crossing),
  );
  const hasEffect = isWritten || expected.ofEvents.flat().some(({ type }) => type === "part");
  if (!hasEffect && !first.stuck) {
    const hints = options.events.flatMap((_type, event) => hintsFor(first, event));
    const { unseen } = first;
    throw errorOf("no_effect", {
      problem: noEffect,
      lines: [],
      hints: [...new Set(hints)],
      unseen,
    });
  }
  const reordered = options.events.length > 1 ? [await runner.run([], "reversed")] : [];
  return expectedOf(first, shifted, reordered);
}

/**
 * Asserts that no event was ignored, and that no handler failed after its transaction had completed the event.
 *
 * @throws CrashTestError `no_effect` if times are exact and an event was ignored; `not_acknowledged` if a handler
 *   failed after the completion
 */
function assertProcessed(history: History, { events, isExact }: SearchOptions): void {
  for (const [event, type] of events.entries()) {
    const attempts = history.attempts.filter((attempt) => attempt.event === event);
    const codes = new Set(attempts.map(({ code }) => code));
    const hints = hintsFor(history, event);
    if (isExact && codes.has("ignored")) {
      const problem = `${type} has no effect, even without a fault, so it cannot be tested. Register a handler for it, or remove it from the events.`;
      throw errorOf("no_effect", { problem, lines: [], hints, unseen: [] });
    }
    const isDone = codes.has("duplicate") && !codes.has("processed");
    if (isDone && codes.has("handler_failed")) {
      const problem = `The handler of ${type} rejects after its transaction has completed the event, even without a fault. The next attempt is a duplicate, so the work after the transaction is never done.`;
      throw errorOf("not_acknowledged", { problem, lines: firstLines(history), hints, unseen: [] });
    }
  }
}

function firstLines(history: History): readonly string[] {
  const lines = linesOf(history);
  return [
    ...lines.slice(0, mostLines).map(({ who, text }) => `${who}  ${text}`),
    ...(lines.length > mostLines ? [`… ${lines.length - mostLines} more lines`] : []),
  ];
}

/** Creates the error about a history. Its message contains the facts. */
function errorOf(
  code: "not_acknowledged" | "no_effect" | "nondeterministic",
  facts: CrashTestFacts,
): CrashTestError {
  const { problem, lines, hints, unseen } = facts;
  const message = [
    code === "not_acknowledged" ? `${problem} Fix this first:` : problem,
    ...lines.map((line) => `  ${line}`),
    ...hints,
    ...accessText(unseen),
  ];
  return new CrashTestError(code, message.join("\n"), { facts });
}

const noEffect =
  "Without a fault, the events have no effect that this test can see, so there is nothing that could be lost or duplicated. Wrap the calls that your handlers make with `world.effect`, use `fetch` or `world.pool`, or read the state with `observe`. If your handlers remember events in a module-level variable, create that variable in the function `receiver`.";

/** Returns the deviations of the undisturbed history: calls that several attempts of one event made, and `stuck`. */
export function withoutFaults({ undisturbed: history }: Expected): readonly Deviation[] {
  const facts = factsOf(history);
  const duplicates = facts.callNames.flatMap((effect): readonly Deviation[] => {
    const attempts = new Map<number | undefined, Set<number | undefined>>();
    for (const { crossing, event } of facts.effects(effect)) {
      attempts.set(
        event,
        (attempts.get(event) ?? new Set()).add(history.crossings[crossing - 1]?.attempt),
      );
    }
    return Array.from(attempts).flatMap(([event, makers]): readonly Deviation[] =>
      event !== undefined && makers.size > 1 ? [{ kind: "duplicate", effect, event }] : [],
    );
  });
  return [
    ...duplicates,
    ...deviationsOf(history, expectedOf(history, history, [])).filter(
      ({ kind }) => kind === "stuck",
    ),
  ];
}

/** Names the access that takes real time, because it may be the reason for an error. */
const accessText = (unseen: readonly string[]): readonly string[] =>
  unseen.length === 0
    ? []
    : [
        `The code used ${unseen.join("; ")}, which takes real time. Wrap these calls with \`world.effect\`, or run the command \`svc-webhooks crash-test\`.`,
      ];

/** Returns each line of a history as text, with its exact time. */
export const writtenLines = (lines: readonly HistoryLine[]): readonly string[] =>
  lines.map(({ ms, who, text, note }) => {
    const remark = note === undefined ? "" : `  (${note})`;
    return `${(ms / 1000).toFixed(3)} s  ${who}  ${text}${remark}`;
  });

const callLines = ({ calls }: History): readonly string[] =>
  calls.map(({ name, key = "none" }) => `the key of ${name}: ${key}`);

const stateLines = ({ tables, observed }: WorldState): readonly string[] => [
  ...Object.entries(tables).flatMap(([table, rows]) =>
    rows.map((row) => {
      const columns = Object.entries(row).map(
        ([name, value]) => `${name} ${JSON.stringify(value)}`,
      );
      return `a row of ${table} at the end: ${columns.join(", ")}`;
    }),
  ),
  ...Object.entries(observed).map(
    ([name, value]) => `observe.${name} at the end: ${JSON.stringify(value)}`,
  ),
];

/**
 * Asserts that two runs of the same history have written the same lines.
 *
 * @param name names the histories in the error: `undisturbed `
 * @throws CrashTestError `nondeterministic`
 */
export function assertSame(
  name: string,
  first: readonly string[],
  second: readonly string[],
  unseen: readonly string[],
): void {
  const length = Math.max(first.length, second.length);
  const index = Array.from({ length }, (_none, place) => place).find(
    (place) => first[place] !== second[place],
  );
  if (index === undefined) return;
  throw errorOf("nondeterministic", {
    problem:
      "The same history was run twice with different results, so findings could not be repeated. The first line that differs:",
    lines: [first, second].map(
      (lines, run) => `${name}run ${run + 1}: ${lines[index] ?? "no further line"}`,
    ),
    hints: [
      "The code probably uses random numbers, the time, a file or module-level state that the crash test does not control. Use `Math.random`, the global `crypto.randomUUID`, `Date` or `world.clock`, and create state in the function `receiver`.",
    ],
    unseen,
  });
}
