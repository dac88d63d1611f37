import type { Row, WorldState } from "../history.js";

/*
 * Compares states of the outside world. A value that differs between two undisturbed histories, such as a time or a
 * random id, cannot be compared: its path is masked in all states.
 */

/** The paths that are not compared, such as `orders.created_at`. */
export type Mask = ReadonlySet<string>;

/** One table, or one observed value, in a form that can be compared. */
export interface Part {
  /** The rows of the table, or the entries of an observed list, as text. Undefined for any other observed value. */
  readonly rows: readonly string[] | undefined;
  /** The whole content as text, independent of the order of rows. */
  readonly text: string;
}

export type Parts = ReadonlyMap<string, Part>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the paths at which two undisturbed states differ. The order of rows does not count. */
export function maskOf(first: WorldState, second: WorldState): Mask {
  const pairs = [
    ["tables", first.tables, second.tables],
    ["observed", first.observed, second.observed],
  ] as const;
  const paths = pairs.flatMap(([path, left, right]) =>
    namesOf(left, right).flatMap((name) => {
      const [rows, others] = [left[name], right[name]];
      const areRows = Array.isArray(rows) && Array.isArray(others);
      return areRows
        ? differencesOfRows(`${path}.${name}`, rows, others)
        : differences(`${path}.${name}`, rows, others);
    }),
  );
  return new Set(paths);
}

type Values = Readonly<Record<string, unknown>>;

const namesOf = (left: Values, right: Values): readonly string[] => [
  ...new Set([...Object.keys(left), ...Object.keys(right)]),
];

/** Returns the paths at which two values differ. */
function differences(path: string, left: unknown, right: unknown): readonly string[] {
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
    return left.flatMap((value, index) => differences(path, value, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    return namesOf(left, right).flatMap((name) =>
      differences(`${path}.${name}`, left[name], right[name]),
    );
  }
  return JSON.stringify(left) === JSON.stringify(right) ? [] : [path];
}

/** The maximum number of differing rows that are compared with each other. More rows are compared in their order. */
const mostCompared = 300;

/**
 * Returns the paths at which rows differ, or the path of the list if the numbers of rows differ. Compares each row with
 * all rows that differ from it least, because any of them may be its counterpart.
 */
function differencesOfRows(
  path: string,
  left: readonly unknown[],
  right: readonly unknown[],
): readonly string[] {
  if (left.length !== right.length) return [path];
  const [ones, others] = unequal(left, right);
  if (ones.length > mostCompared) return differences(path, ones, others);
  return ones.flatMap((row) => {
    const all = others.map((other) => [...new Set(differences(path, row, other))]);
    const least = Math.min(...all.map(({ length }) => length));
    const nearest = all.filter(({ length }) => length === least);
    others.splice(
      all.findIndex(({ length }) => length === least),
      1,
    );
    return nearest.flat();
  });
}

/** Returns the rows of two lists without those that are in both. */
function unequal(
  left: readonly unknown[],
  right: readonly unknown[],
): readonly [unknown[], unknown[]] {
  const counts = new Map<string | undefined, number>();
  for (const row of right) {
    const text = JSON.stringify(row);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const take = (row: unknown): boolean => {
    const text = JSON.stringify(row);
    const count = counts.get(text) ?? 0;
    if (count > 0) counts.set(text, count - 1);
    return count > 0;
  };
  const ones = left.filter((row) => !take(row));
  // `take` now selects the rows that only the second list has: the counts of all others are used up.
  return [ones, right.filter(take)];
}

/** Converts a state to text that can be compared, with masked values replaced. */
export function partsOf({ tables, observed }: WorldState, mask: Mask): Parts {
  const written = (path: string, value: unknown): unknown => {
    if (mask.has(path)) return "…";
    if (Array.isArray(value)) return value.map((item) => written(path, item));
    if (!isObject(value)) return value;
    const names = Object.keys(value).toSorted();
    return Object.fromEntries(names.map((name) => [name, written(`${path}.${name}`, value[name])]));
  };
  const rowsOf = (path: string, rows: readonly unknown[]): Part => {
    if (mask.has(path)) return { rows: undefined, text: "…" };
    const texts = rows.map((row) => JSON.stringify(written(path, row)) ?? "").toSorted();
    return { rows: texts, text: texts.join("\n") };
  };
  const tableParts = Object.entries(tables).map(
    ([name, rows]: [string, readonly Row[]]) => [name, rowsOf(`tables.${name}`, rows)] as const,
  );
  const observedParts = Object.entries(observed).map(([name, value]): [string, Part] => {
    const path = `observed.${name}`;
    const key = Object.hasOwn(tables, name) ? `observed ${name}` : name;
    if (Array.isArray(value)) return [key, rowsOf(path, value)];
    return [key, { rows: undefined, text: JSON.stringify(written(path, value)) ?? "" }];
  });
  return new Map([...tableParts, ...observedParts]);
}

/** Returns the rows of the first list that the second list lacks. A row may occur several times in each list. */
export function without(rows: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return rows.filter((row) => {
    const index = left.indexOf(row);
    if (index === -1) return true;
    left.splice(index, 1);
    return false;
  });
}
