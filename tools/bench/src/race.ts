/** The values of one contender, one per round. Values from the same round are comparable. */
export interface Lane {
  readonly name: string;
  readonly values: readonly number[];
}

/** A promise that the project makes about a lane's median value, or about its median ratio to another lane. */
export interface Bar {
  readonly lane: string;
  /** The lane to compare with, round by round. Default: the bar applies to the value itself. */
  readonly against?: string;
  /** The lower limit. A bar has either `atLeast` or `atMost`. */
  readonly atLeast?: number;
  readonly atMost?: number;
  /** A stricter limit, which the project wants to reach. */
  readonly aim: number;
  /** The reason why the bar may be missed. It is shown only if the bar is missed. */
  readonly limit?: string;
}

/** Contenders that did the same work in the same run, in turns. */
export interface Race {
  readonly title: string;
  /** The unit: `µs`, `/s`, `B` … */
  readonly unit: string;
  /** The lane that the others are compared with. */
  readonly reference?: string;
  readonly lanes: readonly Lane[];
  readonly bars: readonly Bar[];
}

/** The result of one section of the benchmark: its races. Each section runs in a process of its own. */
export interface Section {
  readonly title: string;
  readonly races: readonly Race[];
  /** An additional table on the page: its cells, row by row, header row first. */
  readonly table?: readonly (readonly string[])[];
}

/** Returns every bar together with its race. */
export const promisesOf = (sections: readonly Section[]) =>
  sections.flatMap(({ races }) => races.flatMap((race) => race.bars.map((bar) => ({ race, bar }))));

/** The median and the quartiles. */
export interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const quantile = (part: number) => {
    const position = (sorted.length - 1) * part;
    const below = sorted[Math.floor(position)] ?? NaN;
    const above = sorted[Math.ceil(position)] ?? NaN;
    return below + (above - below) * (position % 1);
  };
  return { low: quantile(0.25), median: quantile(0.5), high: quantile(0.75) };
}

/** Returns the spread of a lane's values, or of their ratios to the values of `against` in the same rounds. */
export function measured({ title, lanes }: Race, lane: string, against?: string): Spread {
  const valuesOf = (name: string) => {
    const namedLane = lanes.find((each) => each.name === name);
    if (!namedLane) throw new Error(`The race "${title}" has no lane "${name}".`);
    return namedLane.values;
  };
  if (against === undefined) return spreadOf(valuesOf(lane));
  const others = valuesOf(against);
  return spreadOf(valuesOf(lane).map((value, round) => value / (others[round] ?? NaN)));
}

/**
 * Judges by the median whether a bar is kept and whether its aim is reached. The judgment of the bar is close if a
 * quartile lies on the other side of it.
 */
export function judge(race: Race, { lane, against, atLeast, atMost = NaN, aim }: Bar) {
  const { low, median, high } = measured(race, lane, against);
  const holds = (value: number, limit: number) =>
    atLeast === undefined ? value <= limit : value >= limit;
  const bar = atLeast ?? atMost;
  return {
    isKept: holds(median, bar),
    isClose: holds(low, bar) !== holds(high, bar),
    reachesAim: holds(median, aim),
  };
}
