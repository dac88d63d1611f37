import { judge, promisesOf, type Bar, type Race, type Section } from "../race.js";
import { figure, limitOf, markOf, round, subjectOf, valueOf } from "./table.js";

const rowHeight = 40;
const top = 92;
/** Where texts begin, or end if they are figures. */
const column = { what: 24, mark: 728, measured: 846, bar: 916, aim: 976 };
/** Where "half as good as promised", "as promised" and "twice as good" are drawn. */
const [left, middle, right] = [400, 550, 700];

// Readers with any kind of colour vision can distinguish the two colours (Okabe and Ito, 2008).
const style = `text { font: 13px system-ui, "Segoe UI", Roboto, sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: 600 } .small { font-size: 11px } .pale { fill: #59636e }
.end { text-anchor: end } .center { text-anchor: middle }
.kept { fill: #0072b2 } .missed { fill: #d55e00 }
.ink { stroke: #1f2328 } .aim { stroke: #1f2328; stroke-width: 3 } .grid { stroke: #e3e6ea }`;

/**
 * Each bar of the project as a horizontal bar on a logarithmic scale. It begins at the promised value;
 * what is better lies to the right, whichever direction is better for the figure.
 */
export function picture(sections: readonly Section[]): string {
  const rows: string[] = [];
  let y = top + rowHeight / 2;
  for (const section of sections) {
    const promises = promisesOf([section]);
    if (promises.length === 0) continue;
    rows.push(text(section.title, column.what, y, "title"));
    for (const { race, bar } of promises) rows.push(...barRow(race, bar, (y += rowHeight)));
    y += rowHeight;
  }
  const bottom = y - rowHeight / 2;
  const scale = [1 / 2, 2 / 3, 1, 3 / 2, 2].flatMap((times) => [
    line(xOf(times), top, xOf(times), bottom, times === 1 ? "ink" : "grid"),
    text(
      times === 1 ? "bar" : `× ${round(Number(times.toFixed(2)))}`,
      xOf(times),
      bottom + 16,
      "center pale",
    ),
  ]);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 ${bottom + 32}" width="1000">
<style>${style}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
${[...key, ...scale, ...rows].join("\n")}
</svg>
`;
}

function barRow(race: Race, bar: Bar, y: number): string[] {
  const { low, median, high, isKept } = judge(race, bar);
  const place = (value: number) => xOf(timesAsGood(value, bar));
  const x = place(median);
  const colour = isKept ? "kept" : "missed";
  return [
    text(race.title, column.what, y - 8),
    text(subjectOf(bar), column.what, y + 9, "small pale"),
    block(Math.min(x, middle), y, Math.abs(x - middle), colour),
    ...(low === high ? [] : whiskers(place(low), place(high), y)),
    line(place(bar.aim), y - 13, place(bar.aim), y + 13, "aim"),
    text(markOf(race, bar), column.mark, y, colour),
    text(bar.against ? figure(median) : valueOf(race, bar.lane), column.measured, y, "end"),
    text(limitOf(bar), column.bar, y, "end pale"),
    text(round(bar.aim), column.aim, y, "end pale"),
  ];
}

const timesAsGood = (value: number, { atLeast, atMost = NaN }: Bar) =>
  atLeast === undefined ? atMost / value : value / atLeast;

/** Values beyond the scale are drawn at its edge. */
const xOf = (times: number) =>
  Math.min(Math.max(middle + Math.log2(times) * (right - middle), left), right);

const block = (x: number, y: number, width: number, kind: string) =>
  `<rect x="${at(x)}" y="${y - 8}" width="${at(width)}" height="16" class="${kind}"/>`;

const line = (x1: number, y1: number, x2: number, y2: number, kind = "ink") =>
  `<line x1="${at(x1)}" y1="${y1}" x2="${at(x2)}" y2="${y2}" class="${kind}"/>`;

const whiskers = (from: number, to: number, y: number) => [
  line(from, y, to, y),
  line(from, y - 4, from, y + 4),
  line(to, y - 4, to, y + 4),
];

const text = (content: string, x: number, y: number, kind = "") =>
  `<text x="${at(x)}" y="${y + 4.5}" class="${kind}">${content.replaceAll("&", "&amp;")}</text>`;

const at = (place: number) => Number(place.toFixed(1));

const key = [
  text("Blue: the bar is kept. Orange: it is missed.", column.what, 32),
  ...whiskers(340, 366, 32),
  text("quartiles of the rounds", 376, 32),
  line(562, 23, 562, 41, "aim"),
  text("aim", 572, 32),
  text("← worse than promised", middle - 10, top - 14, "end pale"),
  text("better →", middle + 10, top - 14, "pale"),
  text("measured", column.measured, top - 14, "end pale"),
  text("bar", column.bar, top - 14, "end pale"),
  text("aim", column.aim, top - 14, "end pale"),
];
