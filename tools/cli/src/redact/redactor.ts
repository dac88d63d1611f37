import { randomBytes } from "node:crypto";
import { noVocabulary, type Vocabulary } from "../drift/vocabulary.js";
import { isFieldName, isTypeName } from "../lib/field-name.js";
import { isJsonText, rewriteJson, type JsonToken } from "./json-text.js";
import { isAmong, isStructural, isTime, spelled } from "./names.js";
import { createSubstitutes, isMoment } from "./substitutes.js";

export interface RedactorOptions {
  /**
   * Names whose values stay, with everything in them. A name of up to 64 characters, such as `customerRef`, matches
   * other spellings too, such as `customer_ref`. Default: none.
   */
  readonly keep?: readonly string[];
  /** The names and values that schemas declare. Default: none. */
  readonly vocabulary?: Vocabulary;
  /** The key of the substitutes. Default: a random key, which is not stored. */
  readonly key?: Uint8Array;
}

/** A name under which values stayed, and the number of these values. */
export interface Kept {
  readonly name: string;
  readonly count: number;
}

/**
 * Replaces texts and numbers, except values that `keep` or the vocabulary lists, event types, times of events, the
 * sender's ids, and the numbers 0 and 1. One redactor replaces equal values with equal substitutes.
 */
export interface Redactor {
  /**
   * Rewrites a JSON text.
   *
   * @param ids the sender's ids in the request's headers, which stay
   * @throws SyntaxError if the text is not JSON
   */
  readonly json: (text: string, ids?: ReadonlySet<string>) => string;
  /** Rewrites `application/x-www-form-urlencoded` text. A part without `=` counts as a value. */
  readonly form: (text: string, ids?: ReadonlySet<string>) => string;
  /** Replaces a text. */
  readonly text: (text: string) => string;
  /** Returns whether `--keep` lists a name. */
  readonly keeps: (name: string) => boolean;
  /** Counts a value that stays under this name. */
  readonly note: (name: string) => void;
  /** Returns the names under which values stayed, and the numbers of these values. */
  readonly kept: () => readonly Kept[];
}

/** The depth to which JSON texts inside of strings are parsed. A deeper JSON text is replaced as a plain text. */
const mostLevels = 4;

export function createRedactor({
  keep = [],
  vocabulary = noVocabulary,
  key = randomBytes(32),
}: RedactorOptions = {}): Redactor {
  const substitutes = createSubstitutes(key);
  const chosen = new Set(keep.map(spelled));
  const counts = new Map<string, number>();

  const keeps = (name: string) => keep.includes(name) || isAmong(chosen, name);
  const note = (name: string) => {
    const shown = isFieldName(name) ? name : "…";
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  };

  const valuesOf = (name: string) => vocabulary.values.get(name) ?? new Set();

  const isListed = (name: string, value: string, type: JsonToken["type"]): boolean =>
    (isStructural(name) && (type === "number" ? /^\d{1,3}$/.test(value) : isTypeName(value))) ||
    (isTime(name) && isMoment(value)) ||
    valuesOf(name).has(value) ||
    (isStructural(name) && valuesOf("type").has(value));

  const isKnownName = (name: string) =>
    vocabulary.values.has(name) || vocabulary.names.has(name) || isStructural(name) || isTime(name);

  /** Returns the positions of the objects that count as maps: at least one name does not look like a field's name. */
  function mapsIn(text: string): ReadonlySet<number> {
    const maps = new Set<number>();
    rewriteJson(text, keeps, ({ type, value, object, keptBy }) => {
      if (type === "name" && keptBy === undefined && !isKnownName(value) && !isFieldName(value))
        maps.add(object);
      return undefined;
    });
    return maps;
  }

  function valueOf(
    name: string | undefined,
    value: string,
    ids: ReadonlySet<string>,
    level: number,
  ): string {
    if (ids.has(value) || (name !== undefined && isListed(name, value, "string"))) {
      note(name ?? "…");
      return value;
    }
    return level < mostLevels && isJsonText(value)
      ? json(value, ids, level + 1)
      : substitutes.text(value);
  }

  /** @param text must be JSON */
  function json(text: string, ids: ReadonlySet<string>, level: number): string {
    const maps = mapsIn(text);
    return rewriteJson(text, keeps, ({ type, value, name, object, keptBy }) => {
      if (keptBy !== undefined) {
        if (type !== "name") note(keptBy);
        return undefined;
      }
      if (type === "name")
        return maps.has(object) && !isKnownName(value) ? substitutes.entry(value) : undefined;
      if (type === "string") return valueOf(name, value, ids, level);
      if (name === undefined || !isListed(name, value, "number")) return substitutes.number(value);
      note(name);
      return undefined;
    });
  }

  const formPart = (part: string, ids: ReadonlySet<string>): string => {
    const [[name, value] = ["", ""]] = Array.from(new URLSearchParams(`&${part}`));
    if (!part.includes("="))
      return new URLSearchParams({ "": valueOf(undefined, name, ids, 0) }).toString().slice(1);
    const isKept = keeps(name);
    if (isKept) note(name);
    const isField = isKept || isKnownName(name) || isFieldName(name);
    return new URLSearchParams({
      [isField ? name : substitutes.entry(name)]: isKept ? value : valueOf(name, value, ids, 0),
    }).toString();
  };

  return {
    json(text, ids = new Set()) {
      JSON.parse(text);
      return json(text, ids, 0);
    },
    form: (text, ids = new Set()) =>
      text
        .split("&")
        .map((part) => part && formPart(part, ids))
        .join("&"),
    text: substitutes.text,
    keeps,
    note,
    kept: () => Array.from(counts, ([name, count]) => ({ name, count })),
  };
}
