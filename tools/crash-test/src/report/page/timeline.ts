import type { Finding, HistoryLine } from "../../history.js";
import { timeOf } from "../text.js";
import { sentenceHtml, textHtml } from "./escape.js";
import { iconHtml, shapeAt } from "./icons.js";

/** The shortest time between two lines that the page shows as a gap, in milliseconds. */
const gapMs = 1000;

/** Returns the lanes of a line: its sender or process, and the two ends of its call. */
const endsOf = ({ who, from, to }: HistoryLine): readonly string[] => [
  ...new Set([who, from ?? who, to ?? who]),
];

/**
 * Returns the lanes from left to right: the sender, the processes, the store, the database, the services.
 *
 * @param others the history that is shown next to this one: its lanes are included, except its processes
 */
export function lanesOf(
  lines: readonly HistoryLine[],
  others: readonly HistoryLine[] = [],
): readonly string[] {
  const processes = [...new Set(lines.map(({ who }) => who))].filter((who) => who !== "sender");
  const otherProcesses = new Set(others.map(({ who }) => who));
  const services = new Set([
    ...lines.flatMap(endsOf),
    ...others.flatMap(endsOf).filter((lane) => !otherProcesses.has(lane)),
  ]);
  for (const lane of ["sender", ...processes]) services.delete(lane);
  const known = ["store", "database"].filter((lane) => services.has(lane));
  return [
    "sender",
    ...processes.toSorted(),
    ...known,
    ...[...services].filter((lane) => !known.includes(lane)),
  ];
}

/** Returns a history as a list with a picture: one lane for each side, and an arrow for each call. */
export function timelineHtml(
  lines: readonly HistoryLine[],
  lanes: readonly string[],
  finding?: { readonly result: Finding; readonly lane: string | undefined },
): string {
  const head = lanes.map((lane) => `<span>${laneHtml(lane)}</span>`).join("");
  const rows = lines.map((line, row) => rowHtml(line, picture(row), lines[row - 1]));
  if (finding) rows.push(resultHtml(finding.result, resultPicture(finding.lane)));
  return `<div class="history lanes-${Math.min(lanes.length, 12)}">
<div class="lane-names" aria-hidden="true">${head}</div>
<ol>
${rows.join("\n")}
</ol>
</div>`;

  function picture(row: number): string {
    const line = lines[row];
    const lives = lanes.filter((lane) => isAlive(lane, row));
    return pictureHtml(lanes, lives, line ? marksOf(line, lanes) : "");
  }

  function resultPicture(lane: string | undefined): string {
    const lives = lanes.filter((other) => isAlive(other, lines.length));
    const mark = lane !== undefined && lanes.includes(lane) ? shapeAt("bad", xOf(lanes, lane)) : "";
    return pictureHtml(lanes, lives, mark);
  }

  /** Returns whether a lane exists at a row: a process from its first entry to its last, other lanes always. */
  function isAlive(lane: string, row: number): boolean {
    const entries = lines.flatMap(({ who, from }, index) =>
      who === lane || from === lane ? [index] : [],
    );
    const isProcess = lane !== "sender" && lines.some(({ who }) => who === lane);
    return !isProcess || (row >= (entries[0] ?? 0) && row <= (entries.at(-1) ?? 0));
  }
}

/** The maximum length of a lane's name, in characters. */
const longestName = 40;

/** Returns the name of a lane, with a possible line break after each dot. */
const laneHtml = (lane: string): string =>
  (lane.length > longestName ? `${lane.slice(0, longestName)}…` : lane)
    .split(/(?<=\.)/)
    .map(textHtml)
    .join("<wbr>");

const xOf = (lanes: readonly string[], lane: string): string =>
  `${(((lanes.indexOf(lane) + 0.5) / lanes.length) * 100).toFixed(1)}%`;

const pictureHtml = (lanes: readonly string[], lives: readonly string[], marks: string): string => {
  const lines = lives.map((lane) => {
    const x = xOf(lanes, lane);
    return `<line class="life" x1="${x}" x2="${x}" y2="100%"/>`;
  });
  return `<svg class="picture" aria-hidden="true">${lines.join("")}${marks}</svg>`;
};

/** Returns the arrow of a line with a shape: a fault, an effect or an arrowhead. A line without a call has a dot. */
function marksOf(
  { who, from, to, fault, effects, note, isExtra }: HistoryLine,
  lanes: readonly string[],
) {
  if (from === undefined || to === undefined) return shapeAt("dot", xOf(lanes, who));
  const [start, end] = [xOf(lanes, from), xOf(lanes, to)];
  const isRight = lanes.indexOf(to) > lanes.indexOf(from);
  const kind = fault === undefined ? "arrow" : "arrow broken";
  const line = `<line class="${kind}" x1="${start}" x2="${end}" y1="50%" y2="50%"/>`;
  const head = `<svg class="head" x="${end}" y="50%"><path d="${isRight ? "m-9-4 8 4-8 4z" : "m9-4-8 4 8 4z"}"/></svg>`;
  const hasEffect = effects !== undefined && note?.startsWith("effect") === true;
  const mark =
    fault !== undefined
      ? shapeAt("fault", xOf(lanes, who))
      : isExtra === true
        ? shapeAt("bad", end)
        : hasEffect
          ? shapeAt("effect", end)
          : head;
  return line + mark;
}

function rowHtml(line: HistoryLine, picture: string, before: HistoryLine | undefined): string {
  const { ms, who, from, to, fault, isExtra } = line;
  const isLater = before !== undefined && ms - before.ms >= gapMs;
  const kinds = [fault && "is-fault", isExtra && "is-bad", isLater && "is-later"].filter(Boolean);
  const name = kinds.length === 0 ? "" : ` class="${kinds.join(" ")}"`;
  const ends =
    from === undefined || to === undefined
      ? `${textHtml(who)}: `
      : `${textHtml(from)} to ${textHtml(to)}: `;
  return `<li${name}><span class="time">${timeOf(ms)}</span>${picture}<span class="what"><span class="vh">${ends}</span>${whatHtml(line)}</span></li>`;
}

/** Returns the text of a line and its remark, with the shape of a fault or of a duplicate effect. */
export function whatHtml({ text, note, fault, isExtra }: HistoryLine): string {
  const main = textHtml(text);
  const said = fault === undefined ? main : `<b class="fault">${iconHtml("fault")} ${main}</b>`;
  if (note === undefined) return said;
  const remark = isExtra
    ? `<b class="bad">${iconHtml("bad")} ${textHtml(note)}</b>`
    : `<span class="note">${textHtml(note)}</span>`;
  return `${said} ${remark}`;
}

const resultHtml = (result: Finding, picture: string): string =>
  `<li class="is-bad is-result"><span class="time">end</span>${picture}<span class="what"><b class="bad">${iconHtml("bad")} ${sentenceHtml(resultText(result))}</b></span></li>`;

/** Describes how the end of a history differs from the end of the undisturbed history. */
function resultText({ kind, effect, repeat }: Finding): string {
  const name = `\`${effect}\``;
  switch (kind) {
    case "duplicate":
      return repeat === ""
        ? `${name} took place more than once for one event.`
        : `${name} took place more often than in the undisturbed run.`;
    case "lost":
      return `The event was acknowledged, but none of its effects took place: ${name} is missing.`;
    case "partial":
      return `The event was acknowledged, but only some of its effects took place: ${name} is missing.`;
    case "different":
      return `${name} has different content than in the undisturbed run.`;
    case "order_dependent":
      return `${name} ends up as if the events had been handled in a different order.`;
    case "stuck":
      return `${name} never finishes, even after all faults are over.`;
  }
}
