import { speedOf, type Bar, type Race, type Spread } from "../race.js";

/** Three digits that count, or a whole number: 0.934, 10.0, 7,474, 2. */
export const figure = (value: number): string =>
  Number.isInteger(value) || value >= 1_000
    ? value.toLocaleString("en", { maximumFractionDigits: 0 })
    : value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

/** The quartiles; nothing where there was one round, or every round had the same value. */
export const quartiles = ({ low, high }: Spread): string =>
  low === high ? "" : `${figure(low)} … ${figure(high)}`;

/** The figure that a promise names, with its direction. */
export const limitOf = ({ atLeast, atMost = NaN }: Bar): string =>
  atLeast === undefined ? `≤ ${promised(atMost)}` : `≥ ${promised(atLeast)}`;

/** A promise is a round figure, shown as it was made. */
export const promised = (value: number): string => value.toLocaleString("en");

/** What a promise is about, beside the title of its race: `svc-webhooks, speed against floor`. */
export function subjectOf(race: Race, { lane, against, atLeast }: Bar): string {
  if (against === undefined) return lane;
  return `${lane}, ${atLeast === undefined ? costOf(race) : "speed"} against ${against}`;
}

export const valuesOf = ({ unit }: Race): string => (unit === "µs" ? "µs per call" : unit);

/** What was measured for a promise, with its unit unless that is in the title already. */
export function measuredOf({ title, unit }: Race, { against }: Bar, value: number): string {
  const isNamed = against !== undefined || ` ${title} `.includes(` ${unit} `);
  return isNamed ? figure(value) : `${figure(value)} ${unit}`;
}

/** What the values of a race cost. */
function costOf({ unit }: Race): string {
  if (/^[µm]s\b/.test(unit)) return "time";
  return unit === "B" ? "size" : unit;
}

export interface Comparison {
  /** What is compared: `speed`, `time`, `size`, `round trips`. */
  readonly of: string;
  readonly ratio: (lane: string, against: string) => Spread;
}

/** How the lanes of a race are compared: as its promises do; without one, by what its values are. */
export function comparisonOf(race: Race): Comparison {
  const ratios = race.bars.filter(({ against }) => against !== undefined);
  const bySpeed =
    ratios.length > 0
      ? ratios.some(({ atLeast }) => atLeast !== undefined)
      : race.better === "more";
  return bySpeed
    ? { of: "speed", ratio: (lane, against) => speedOf(race, lane, against) }
    : // A ratio of costs is the ratio of speeds the other way round.
      { of: costOf(race), ratio: (lane, against) => speedOf(race, against, lane) };
}
