import { hostLike } from "./hosts.js";
import { isDate, matching, type Form } from "./forms.js";
import { isVocabulary, type Kind } from "./names.js";
import type { Substitutes } from "./substitutes.js";
import { createWordIndex, unspaced, wordsIn, type Word } from "./word-index.js";

/** Values that were found by their names. They are replaced wherever they occur. */
export interface Learned {
  readonly add: (value: string, kind: Kind) => void;
  /** Returns the forms of the values. `onlyCertain` leaves out single words, which an enumeration may have too. */
  readonly forms: (onlyCertain: boolean) => readonly Form[];
}

export interface LearnedOptions {
  /** The most values that are remembered. Beyond that, the oldest are forgotten. Default: no limit. */
  readonly mostValues?: number | undefined;
  /** Is called once, when the first value is forgotten. */
  readonly onForgotten?: (() => void) | undefined;
}

/** The most values of punctuation alone that each text is searched for. Beyond that, all punctuation as long is replaced. */
const mostOthers = 30;

interface Entry {
  /** The words of the value, in lower case. */
  readonly words: readonly string[];
  /** The parts between white space, in place of which any separators match. */
  readonly parts: readonly string[];
  /** Whether nothing else is in the text. */
  readonly isWhole: boolean;
  /** The number of characters before the first word. */
  readonly offset: number;
  readonly isCertain: boolean;
  /** Whether only this case of the letters is meant. */
  readonly isExactCase: boolean;
}

type Learnable = Partial<Record<Kind, (value: string) => boolean>>;

const certain: Learnable = {
  account: (value) => value.length >= 6,
  chosen: (value) => value.length >= 4,
  secret: (value) => value.length >= 6,
  phone: (value) => value.replaceAll(/\D/g, "").length >= 7,
  email: (value) => value.includes("@"),
  address: (value) => value.length >= 5 && /[\s\d]/u.test(value),
  domain: (value) => value.includes("."),
};

export function createLearned(
  substitutes: Substitutes,
  { mostValues = Number.POSITIVE_INFINITY, onForgotten }: LearnedOptions = {},
): Learned {
  const { whole, words, digits } = substitutes;
  const entries = new Map<string, Entry>();
  const index = createWordIndex();
  /** Entries of punctuation alone. */
  const others = new Map<string, Form>();
  let shortestOther = Number.POSITIVE_INFINITY;
  const hosts = new Set<string>();
  const numbers = new Set<string>();
  let isComplete = true;

  const oldestOf = ([oldest = ""]: Iterable<string>) => {
    if (isComplete) onForgotten?.();
    isComplete = false;
    return oldest;
  };

  const forget = (name: string) => {
    const entry = entries.get(name);
    entries.delete(name);
    others.delete(name);
    if (entry) index.remove(name, entry.words);
  };

  const put = (value: string, isCertain: boolean, isExactCase: boolean, isWhole = false) => {
    const name = isWhole ? `^${value}` : value;
    const known = entries.get(name);
    if (known && !isWider(known, isCertain, isExactCase)) return;
    forget(name);
    if (entries.size >= mostValues) {
      const oldest = oldestOf(entries.keys());
      forget(oldest);
      hosts.delete(oldest.toLowerCase());
    }
    const entry = { ...entryOf(value), isCertain, isExactCase, isWhole };
    entries.set(name, entry);
    if (entry.words.length === 0) {
      shortestOther = Math.min(shortestOther, entry.parts.join(" ").length);
      others.set(name, matching(patternOf(entry.parts), substituteOf));
    } else index.add(name, entry.words);
  };

  const putName = (text: string) => {
    const parts = text.split(/[\s,]+/u).filter((part) => isDistinct(part));
    if (parts.length === 0) return;
    const isSeveral = /\s/u.test(text);
    put(text, isSeveral, false);
    if (!isSeveral) return;
    for (const part of parts) {
      if (/^\p{Lu}|[^\0-\u007f]/u.test(part)) put(part, false, true);
      // A text that is nothing but the part may be a user name.
      put(part, false, false, true);
    }
  };

  /** Returns where the longest entry at a word of a text begins and ends, or undefined. */
  function placeAt(text: string, all: readonly Word[], at: number, from: number, isOnly: boolean) {
    for (const { values, start: first, end: last } of index.at(all, at)) {
      if (!values) return [first, last] as const;
      for (const entry of values.map((name) => entries.get(name))) {
        const start = first - (entry?.offset ?? 0);
        if (!entry || start < from || (isOnly && !entry.isCertain)) continue;
        const end = endOfEntry(text, entry, start);
        if (end !== undefined) return [start, end] as const;
      }
    }
    return undefined;
  }

  function* find(text: string, isOnlyCertain: boolean): Generator<readonly [number, number]> {
    let from = 0;
    const all = wordsIn(text);
    for (const [at, { index: start }] of all.entries()) {
      const place = start < from ? undefined : placeAt(text, all, at, from, isOnlyCertain);
      if (!place) continue;
      from = place[1];
      yield place;
    }
  }

  const formsWith = (isOnlyCertain: boolean): readonly Form[] => [
    { find: (text) => (entries.size > 0 ? find(text, isOnlyCertain) : []), replace: substituteOf },
    matching(/(?<![\p{L}\p{N}])\d(?:[\s().-]{0,3}\d){6,16}(?![\p{L}\p{N}])/gu, (found) =>
      numbers.has(found.replaceAll(/\D/g, "")) ? digits(found) : undefined,
    ),
    ...(others.size > mostOthers
      ? [matching(marksOf(shortestOther), substituteOf)]
      : others.values()),
  ];

  const substituteOf = (found: string): string =>
    hosts.has(found.toLowerCase())
      ? hostLike(found, substitutes)
      : (isWords(found) ? words : whole)(found);

  return {
    add(value, kind) {
      const text = normalized(value);
      if (text === "" || text.length > 500 || isDate(text)) return;
      if (kind === "name" || kind === "person") {
        if (kind === "name" || /^\p{L}+[\s,]+\p{L}/u.test(text)) putName(text);
        return;
      }
      const [, bare] = kind === "secret" ? (/^[A-Za-z]+ +(\S+)$/.exec(text) ?? []) : [];
      if (bare !== undefined && bare.length >= 6) put(bare, true, false);
      if (!certain[kind]?.(text) || isVocabulary(text.toLowerCase())) return;
      if (kind === "phone") {
        if (numbers.size >= mostValues) numbers.delete(oldestOf(numbers));
        numbers.add(text.replaceAll(/\D/g, ""));
        return;
      }
      put(text, true, false);
      if (kind === "domain") hosts.add(text.toLowerCase());
    },
    forms: formsWith,
  };
}

function entryOf(value: string) {
  const all = wordsIn(value);
  const words = all.map(({ word }) => word);
  return { words, parts: value.split(/\s+/u), offset: all[0]?.index ?? 0 };
}

const normalized = (text: string) =>
  text
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "")
    .trim();

const isWords = (text: string) => /^[\p{L}\p{M}\s.,'’_+-]+$/u.test(text);

/** Returns whether a value that is known would be found in more texts. */
const isWider = (known: Entry, isCertain: boolean, isExactCase: boolean): boolean =>
  (!known.isCertain && isCertain) || (known.isExactCase && !isExactCase);

/** Returns whether a word identifies somebody: long enough, and not of the vocabulary of payloads. */
function isDistinct(word: string): boolean {
  const letters = word.replaceAll(/[^\p{L}\p{N}]/gu, "");
  if (/^\p{N}*$/u.test(letters) || isVocabulary(letters.toLowerCase())) return false;
  return letters.length >= (unspaced.test(word) || /[^\0-\u007f]/u.test(word) ? 2 : 3);
}

const literal = (text: string) => text.replaceAll(/[$()*+.?[\\\]^{|}/]/g, String.raw`\$&`);

const patternOf = (parts: readonly string[]): RegExp =>
  new RegExp(parts.map(literal).join(String.raw`[\s+._-]{1,3}`), "gu");

const marksOf = (length: number) => new RegExp(`[^\\p{L}\\p{N}]{${length},}`, "gu");

const separator = /[\s+._-]/u;

/** Returns the end of a value that begins at a position of a text, or undefined if the text has another one there. */
function endOfEntry(text: string, entry: Entry, start: number): number | undefined {
  const { parts, isExactCase, isWhole } = entry;
  const isAt = (part: string, at: number) => {
    const found = text.slice(at, at + part.length);
    return found === part || (!isExactCase && found.toLowerCase() === part.toLowerCase());
  };
  let end = start;
  for (const [index, part] of parts.entries()) {
    const from = end;
    if (index > 0) {
      end += 1;
      while (end < from + 3 && !isAt(part, end)) end += 1;
      if (!Array.from(text.slice(from, end)).every((one) => separator.test(one))) return undefined;
    }
    if (!isAt(part, end)) return undefined;
    end += part.length;
  }
  if (isWhole && (start > 0 || end < text.length)) return undefined;
  return isInWord(text, start) || isInWord(text, end) ? undefined : end;
}

/** Returns whether the characters on both sides of a position belong to one word. */
const isInWord = (text: string, at: number): boolean => {
  const sides = [text.charAt(at - 1), text.charAt(at)];
  return sides.every((one) => wordCharacter.test(one) && !unspaced.test(one));
};

const wordCharacter = /[\p{L}\p{N}]/u;
