import { isFieldName, isTypeName } from "../lib/field-name.js";
import type { Change, Difference } from "./json-schema.js";

/** A difference or an unknown type, with the number of deliveries that have it. */
export interface Row {
  readonly type: string | null;
  readonly change: Change | "unknown_type";
  readonly path?: string;
  readonly expected?: string | undefined;
  readonly found?: string | undefined;
  readonly count: number;
  /** The number of deliveries of the type. */
  readonly of: number;
}

export interface Report {
  readonly addType: (type: string | undefined) => void;
  readonly addUnknown: (type: string | undefined) => void;
  readonly add: (type: string, differences: readonly Difference[]) => void;
  /** Returns the rows, sorted by type and path. */
  readonly rows: () => readonly Row[];
}

const shownType = (type: string | undefined): string | null =>
  type === undefined ? null : isTypeName(type) ? type : "…";

const shownName = (name: string): string =>
  name === "[]" || name === "{}" || isFieldName(name) ? name : "…";

const pathText = (path: readonly string[]): string =>
  path
    .map(shownName)
    .join(".")
    .replaceAll(/\.?\[\]/g, "[]")
    .replaceAll(".{}", "{}");

/** Creates a report that contains no values of events. A name that may be a value is shown as `…`. */
export function createReport(): Report {
  const totals = new Map<string | undefined, number>();
  const counts = new Map<string, Omit<Row, "of"> & { readonly key: string | undefined }>();

  const count = (key: string | undefined, row: Omit<Row, "of" | "count">) => {
    const id = JSON.stringify([key, row]);
    const before = counts.get(id);
    counts.set(id, { ...row, key, count: (before?.count ?? 0) + 1 });
  };

  return {
    addType: (type) => totals.set(type, (totals.get(type) ?? 0) + 1),
    addUnknown: (type) => count(type, { type: shownType(type), change: "unknown_type" }),
    add(type, differences) {
      const shown = new Map(
        differences.map(({ change, path, expected, found }) => {
          const text = pathText(path);
          return [
            `${change} ${text}`,
            { type: shownType(type), change, path: text, expected, found },
          ];
        }),
      );
      for (const row of shown.values()) count(type, row);
    },
    rows: () =>
      Array.from(counts.values(), ({ key, ...row }) => ({
        ...row,
        of: totals.get(key) ?? 0,
      })).toSorted(
        (left, right) =>
          compared(left.type ?? "", right.type ?? "") ||
          compared(left.path ?? "", right.path ?? ""),
      ),
  };
}

const compared = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
