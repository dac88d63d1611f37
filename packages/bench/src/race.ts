/** What was measured of one contender: one value a round, so that values of one round can be compared. */
export interface Lane {
  readonly name: string;
  readonly values: readonly number[];
}

/** A promise the project makes about a race. */
export interface Bar {
  /** The lane that makes it. */
  readonly lane: string;
  /** The lane it is measured against, round by round; without it the value itself counts. */
  readonly against?: string;
  /** A ratio of speeds (or a value) that must be reached, */
  readonly atLeast?: number;
  /** or a ratio of costs (or a value) that must not be passed. */
  readonly atMost?: number;
  /** What we want to be known for. */
  readonly aim: number;
  /** What stands in its way, for whoever finds it missed. */
  readonly limit?: string;
}

/** Contenders that did the same work in the same run, by turns. */
export interface Race {
  readonly title: string;
  /** Of the values: `"µs"`, `"requests/s"`, `"B"` … */
  readonly unit: string;
  /** Which values are the good ones. */
  readonly better: "less" | "more";
  /** The lane that all others are shown against, where they do the same. */
  readonly reference?: string;
  readonly lanes: readonly Lane[];
  readonly bars: readonly Bar[];
}

/** Races that belong together: one chapter of the page, run in a process of its own. */
export interface Section {
  readonly title: string;
  /** One sentence or two: what is done and how it is measured. */
  readonly about: string;
  readonly races: readonly Race[];
}

/** The middle of several rounds, and the quartiles around it. */
export interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const position = (sorted.length - 1) * part;
    const below = sorted[Math.floor(position)] ?? NaN;
    const above = sorted[Math.ceil(position)] ?? NaN;
    return below + (above - below) * (position % 1);
  };
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}

/** How many times as fast as `against` a lane was, round by round. */
export function speedOf(race: Race, lane: string, against: string): Spread {
  const ours = laneOf(race, lane);
  const theirs = laneOf(race, against);
  return spreadOf(
    ours.values.map((value, round) => {
      const other = theirs.values[round] ?? NaN;
      return race.better === "less" ? other / value : value / other;
    }),
  );
}

export interface Verdict extends Spread {
  readonly isMet: boolean;
  readonly reachesAim: boolean;
}

/** What became of a promise. Judged by the median, which is also what is shown. */
export function judge(race: Race, bar: Bar): Verdict {
  const spread = measured(race, bar);
  const holds = (limit: number) =>
    bar.atLeast === undefined ? spread.median <= limit : spread.median >= limit;
  return {
    ...spread,
    isMet: holds(bar.atLeast ?? bar.atMost ?? NaN),
    reachesAim: holds(bar.aim),
  };
}

function measured(race: Race, { lane, against, atMost }: Bar): Spread {
  if (against === undefined) return spreadOf(laneOf(race, lane).values);
  // A ratio of costs is the ratio of speeds the other way round.
  return atMost === undefined ? speedOf(race, lane, against) : speedOf(race, against, lane);
}

function laneOf({ title, lanes }: Race, name: string): Lane {
  const lane = lanes.find((each) => each.name === name);
  if (!lane) throw new Error(`${title} has no lane ${name}`);
  return lane;
}
