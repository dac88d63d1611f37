import type { Finding, HistoryLine } from "../history.js";
import type { CrashTestReport, Tried } from "./report.js";
import { functionWords, type Words } from "./words.js";

/** Returns the report as text for a terminal. */
export function textOf(
  report: Omit<CrashTestReport, "text">,
  maxFaults: number,
  words: Words = functionWords,
): string {
  const { events, findings, accepted } = report;
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  const none = report.unseen.length === 0 ? "no finding" : "not complete";
  const title = findings.length === 0 ? none : count;
  return [
    `crash test of ${events.join(", ")}: ${title}`,
    ...findings.flatMap((finding) => ["", ...findingText(finding, report, words)]),
    ...(findings.length === 0 ? [] : [""]),
    ...triedText(report, words, maxFaults),
    ...list("Accepted", accepted.map(titleOf)),
    ...list("Access where no fault was tried", report.unseen),
    ...list("Named but never used", report.unused),
    ...list("Not compared", report.notCompared),
    ...list("Not reached, so not tried", report.notReached),
    ...list("Did not occur again, probably because of timing", report.unsteady),
    ...list("Assumed to honor their keys", report.keyed),
    ...list("Not seen by this test", report.blind),
  ].join("\n");
}

/** The maximum number of lines of a history in the text. The JSON report contains all lines. */
const mostLines = 40;

/** Returns a time in seconds: `1.5 s`. */
export const timeOf = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Returns the kind of a finding for people: `order-dependent`. */
export const kindText = (kind: Finding["kind"]): string => kind.replace("_", "-");

/** Returns the title of a finding: `order-dependent stats`. */
export const titleOf = ({ kind, effect }: Pick<Finding, "kind" | "effect">): string =>
  `${kindText(kind)} ${effect}`;

const list = (title: string, items: readonly string[]): readonly string[] =>
  items.length === 0 ? [] : [`${title}: ${items.join("; ")}.`.replace("..", ".")];

/** Describes in how many histories with one fault the result of a finding occurs. */
export function reachText(
  { repeat, cells }: Pick<Finding, "repeat" | "cells">,
  { tried }: Pick<CrashTestReport, "tried">,
): string {
  if (repeat === "") return "It occurs without a fault.";
  const histories = tried.find(({ faults }) => faults === 1)?.run;
  if (histories === undefined) {
    return "How often this occurs is unknown, because only this combination of faults was run.";
  }
  return cells.length > 0
    ? `This result occurs in ${cells.length} of ${histories} histories with one fault.`
    : "No single fault leads to this result.";
}

function findingText(
  finding: Finding,
  report: Pick<CrashTestReport, "tried">,
  words: Words,
): readonly string[] {
  const { source, history, advice, repeat } = finding;
  const heading = `✗ ${titleOf(finding)}`;
  const again = repeat === "" ? "" : ` Repeat: ${words.repeat(repeat)}`;
  return [
    source === undefined ? heading : `${heading.padEnd(60)}  ${source}`,
    ...historyText(history.slice(0, mostLines)),
    ...(history.length > mostLines ? [`          … ${history.length - mostLines} more lines`] : []),
    `  ${advice}`,
    `  ${reachText(finding, report)}${again}`,
  ];
}

/** Returns lines as text in columns: the time, the process or the sender, a mark for a fault, the text, the remark. */
function historyText(lines: readonly HistoryLine[]): readonly string[] {
  const who = Math.max(...lines.map((line) => line.who.length), 1);
  const width = Math.min(Math.max(...lines.map(({ text }) => text.length), 0), 56);
  return lines.map((line) => {
    const time = timeOf(line.ms).padStart(8);
    const mark = line.fault === undefined ? " " : "✗";
    const text = `${time}  ${line.who.padEnd(who)} ${mark} ${line.text.padEnd(line.note === undefined ? 0 : width)}`;
    return line.note === undefined ? text : `${text}  ${line.note}`;
  });
}

const number = (value: number): string => value.toLocaleString("en-US");

/** Describes which histories were run and, if there is no finding or all are accepted, what was not tried. */
export function triedText(
  report: Omit<CrashTestReport, "text">,
  words: Words,
  maxFaults: number = report.tried.length,
): readonly string[] {
  const { findings, accepted, tried, points, seed } = report;
  const [first] = tried;
  const levels = tried.map(({ run, of, faults }, index) =>
    index === 0
      ? `${number(run)} of ${number(of)} with one fault, at ${number(points)} points`
      : `${number(run)} of ${number(of)} with ${counts[faults]}${isSampled({ run, of, faults }) ? ` (seed ${seed})` : ""}`,
  );
  const runs = number(tried.reduce((sum, { run }) => sum + run, 0));
  if (report.only !== undefined) {
    return [
      `Only the history with ${report.only} was run. Remove ${words.only} to run all histories.`,
    ];
  }
  if (!first && findings.length + report.accepted.length === 0) return [onlyReal];
  if (!first) return ["Once this is fixed, histories with a fault are run too."];
  if (findings.length > 0) {
    const next =
      tried.length < maxFaults
        ? ` Once these findings are fixed, histories with ${counts[tried.length + 1]} are run too.`
        : "";
    return [`Run: ${levels.join(", ").replace(" with ", " histories with ")}.${next}`];
  }
  const untried = [
    ...(tried.length < 3 ? [counts[tried.length + 1] ?? ""] : []),
    "other events",
    "other orders of simultaneous calls",
  ];
  return [
    `${accepted.length === 0 ? "No finding" : "No other finding"} in ${runs} histories: ${levels.join(", ")}. Not tried: ${untried.join(", ")}.`,
  ];
}

const onlyReal =
  "Run: one history without a fault. Its code reached another program for real, and each further history would reach it again.";

const counts = ["no fault", "one fault", "two faults", "three faults"];

const isSampled = ({ run, of }: Tried): boolean => run < of;
