import {
  assumptions,
  type Assumption,
  type AssumptionId,
  type Setting,
  type Settings,
} from "./table.js";
import { invalid, notFound } from "../errors.js";

/** An assumption and its current value. */
export interface AssumptionState {
  readonly id: AssumptionId;
  readonly setting: Setting;
  readonly text: string;
  /** The word that selects the current value, with API keys masked; `custom` for a function or an emit map. */
  readonly value: string;
  readonly default: string;
  readonly alternatives: readonly string[];
  readonly used_by: readonly string[];
}

/** A valid value for an assumption. It takes effect when `select` is called. */
export interface Choice {
  /** The id of the assumption, such as `A-06`. */
  readonly id: AssumptionId;
  /** The value as a data file stores it, with hashes in place of API keys. `choose` accepts it too. */
  readonly saved: unknown;
  readonly select: () => AssumptionState;
}

/** The current assumptions of one sandbox. */
export interface Ledger {
  readonly get: <Name extends Setting>(setting: Name) => Settings[Name];
  /**
   * Selects a value: a word of the table or, from code in the same process, any value that the assumption's `parse`
   * accepts.
   * @throws ApiError 404 for an unknown id, 400 for a value that the assumption does not accept
   */
  readonly set: (id: string, value: unknown) => AssumptionState;
  /** Like `set`, but leaves the selection to the caller, so that the value can be saved first. @throws as `set` does */
  readonly choose: (id: string, value: unknown) => Choice;
  readonly list: () => readonly AssumptionState[];
  /** Returns the values by id, as `choose` accepts them, with API keys hashed. Omits functions and emit maps. */
  readonly saved: () => Readonly<Record<string, unknown>>;
}

const duration = "is a number followed by ms, s, m or h, such as 500ms, 1s or 5m";

/** For each placeholder that an alternative may contain, a sentence that describes its format. */
const forms: Readonly<Record<string, string>> = {
  "<delay>": `A delay ${duration}.`,
  "<duration>": `A duration ${duration}.`,
  "<limit>": "A limit is a number of requests from 1 to 999999, as in epoch:100/60s.",
  "<size>":
    "A size is a number followed by B, kB, KiB, MB or MiB, such as 512B, 64KiB or 10MB, and at most 1000MB.",
  "<status>": "A status is a number from 300 to 599, as in stop:400+410.",
  "<type>":
    "A type consists of letters, digits, dots, underscores and hyphens, as in extra:email.opened.",
  "<key>":
    "A key consists of letters, digits, dots, underscores and hyphens, as in keys:svc_one,svc_two.",
};

/** A row of the table, for any setting. */
type Row = Assumption<Setting, AssumptionId>;

const rows: readonly Row[] = Object.values(assumptions);

function find(id: string): Row {
  const row = rows.find((candidate) => candidate.id === id);
  if (row) return row;
  throw notFound(
    "id",
    `There is no assumption ${id.slice(0, 20)}. The ids range from A-01 to A-28.`,
  );
}

export function createLedger(): Ledger {
  const selected = new Map<
    Setting,
    { readonly word: string; readonly value: unknown; readonly saved: unknown }
  >();
  const choose = (row: Row, word: unknown): Choice => {
    const value = row.parse(word);
    if (value === undefined) {
      const choices = [row.default, ...row.alternatives].join(", ");
      const placeholders = new Set(choices.match(/<\w+>/g));
      const sentences = [
        `${row.id} (${row.setting}) does not accept this value.`,
        `Use one of: ${choices}.`,
        ...Array.from(placeholders, (placeholder) => forms[placeholder] ?? ""),
      ];
      throw invalid("value", sentences.join(" "));
    }
    const shown = shownOf(value) ?? (typeof word === "string" ? word : "custom");
    const saved = shownOf(value) === undefined ? word : value;
    return {
      id: row.id,
      saved,
      select() {
        selected.set(row.setting, { word: shown, value, saved });
        return state(row);
      },
    };
  };

  const state = ({ id, setting, text, default: first, alternatives, usedBy }: Row) => ({
    id,
    setting,
    text,
    value: selected.get(setting)?.word ?? first,
    default: first,
    alternatives,
    used_by: usedBy,
  });

  for (const row of rows) choose(row, row.default).select();
  return {
    get: <Name extends Setting>(setting: Name) => selected.get(setting)?.value as Settings[Name],
    set: (id, value) => choose(find(id), value).select(),
    choose: (id, value) => choose(find(id), value),
    list: () => rows.map(state),
    saved: () =>
      Object.fromEntries(
        rows
          .map(({ id, setting }) => ({ id, ...selected.get(setting) }))
          .filter(({ word }) => word !== "custom")
          .map(({ id, saved }) => [id, saved]),
      ),
  };
}

/** Returns the word to show for a value whose own word contains API keys, or undefined for other values. */
const shownOf = (value: Settings[Setting]) =>
  typeof value === "object" && "shown" in value ? value.shown : undefined;
