import { format } from "prettier";
import { judge, spreadOf, type Race, type Verdict } from "../race.js";
import {
  comparisonOf,
  figure,
  limitOf,
  measuredOf,
  promised,
  quartiles,
  subjectOf,
  valuesOf,
} from "./words.js";

/** Every promise with what was measured beside it; nothing if none was made. */
export function barTable(races: readonly Race[]): Promise<string> {
  const rows = races.flatMap((race) =>
    race.bars.map((bar) => {
      const verdict = judge(race, bar);
      return [
        markOf(verdict),
        `${race.title}: ${subjectOf(race, bar)}`,
        measuredOf(race, bar, verdict.median),
        quartiles(verdict),
        limitOf(bar),
        promised(bar.aim),
      ];
    }),
  );
  return table(["", "what", "measured", "quartiles", "bar", "aim"], rows, 2);
}

/** `✔✔` the aim is reached, `✔` the bar is kept, `✘` it is missed. */
export const markOf = ({ isMet, reachesAim }: Verdict): string =>
  isMet ? (reachesAim ? "✔✔" : "✔") : "✘";

/** The lanes of a race: their values, and what these are to the reference's. */
export function raceTable(race: Race): Promise<string> {
  const { reference } = race;
  const { of, ratio } = comparisonOf(race);
  const rows = race.lanes.map(({ name, values }) => {
    const spreads = [spreadOf(values)];
    if (reference !== undefined) spreads.push(ratio(name, reference));
    return [name, ...spreads.flatMap((spread) => [figure(spread.median), quartiles(spread)])];
  });
  const head = [race.title, valuesOf(race), "quartiles"];
  if (reference !== undefined) head.push(`${of}, ${reference} = 1`, "quartiles");
  return table(head, rows, 1);
}

/** A Markdown table with straight columns: for pages and for terminals. Columns without content are left out. */
async function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns: number,
): Promise<string> {
  if (rows.length === 0) return "";
  const rule = head.map((_, column) => (column < textColumns ? "---" : "--:"));
  const isFilled = head.map((_, column) => rows.some((cells) => cells[column] !== ""));
  const lines = [head, rule, ...rows].map((cells) => {
    const shown = cells.filter((_, column) => isFilled[column]);
    return `| ${shown.join(" | ")} |`;
  });
  return (await format(lines.join("\n"), { parser: "markdown" })).trimEnd();
}
