import { format } from "prettier";
import { judge, measured, promisesOf, type Bar, type Race, type Section } from "../race.js";

/** Formats a number with three significant digits, such as 10.0; without decimals if it is whole or at least 1,000. */
const figure = (value: number): string =>
  Number.isInteger(value) || value >= 1_000
    ? value.toLocaleString("en", { maximumFractionDigits: 0 })
    : value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

/** Formats the value of a bar or an aim. These are round numbers, shown as they were set. */
export const round = (value: number): string => value.toLocaleString("en");

const limitOf = ({ atLeast, atMost = NaN }: Bar): string =>
  atLeast === undefined ? `≤ ${round(atMost)}` : `≥ ${round(atLeast)}`;

export const subjectOf = ({ lane, against }: Bar): string =>
  against === undefined ? lane : `${lane} / ${against}`;

/** Returns `✔✔` if the aim is reached, `✔` if the bar is kept, `✘` if it is missed; with `?` if that was close. */
function markOf(race: Race, bar: Bar): string {
  const { isKept, isClose, reachesAim } = judge(race, bar);
  return (isKept ? (reachesAim ? "✔✔" : "✔") : "✘") + (isClose ? "?" : "");
}

/** Formats a lane's value, with its unit. */
const valueOf = (race: Race, lane: string): string =>
  [figure(measured(race, lane).median), race.unit]
    .join(race.unit.startsWith("/") ? "" : " ")
    .trim();

const head = ["met", "measurement", "median", "ratio to", "ratio", "quartiles", "bar", "aim"];
const rule = ["---", "---", "--:", "---", "--:", "--:", "--:", "--:"];

/** Formats rows as a Markdown table. */
export const markdownOf = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Returns a Markdown table for the page and the terminal: one row per bar, then one per lane without a bar. */
export function table(races: readonly Race[]): Promise<string> {
  const rows = races.flatMap((race) =>
    race.bars.map((bar) => row(race, bar.lane, bar.against, bar)),
  );
  for (const race of races) {
    const withBar = new Set(race.bars.map(({ lane }) => lane));
    const others = race.lanes.filter(({ name }) => !withBar.has(name));
    rows.push(...others.map(({ name }) => row(race, name, race.reference)));
  }
  return format(markdownOf([head, rule, ...rows]), { parser: "markdown" });
}

function row(race: Race, lane: string, against: string | undefined, bar?: Bar): string[] {
  const other = against === lane ? undefined : against;
  const { low, median, high } = measured(race, lane, other);
  const ratio = other === undefined ? ["", ""] : [other, figure(median)];
  const quartiles = low === high ? "" : `${figure(low)} … ${figure(high)}`;
  const promise = bar ? [limitOf(bar), round(bar.aim)] : ["", ""];
  const cells = [`${race.title}: ${lane}`, valueOf(race, lane), ...ratio, quartiles];
  return [bar ? markOf(race, bar) : "", ...cells, ...promise];
}

/** Returns sentences with the numbers of kept bars, close results and reached aims. */
export function summary(sections: readonly Section[]): string {
  const results = promisesOf(sections).map(({ race, bar }) => judge(race, bar));
  const count = (key: keyof ReturnType<typeof judge>) =>
    results.filter((result) => result[key]).length;
  return `${count("isKept")} of ${results.length} bars were met, and ${count("reachesAim")} of ${results.length} aims were reached. ${count("isClose")} results were close.`;
}
