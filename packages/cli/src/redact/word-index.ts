/** A word of a text in lower case. */
export interface Word {
  readonly word: string;
  readonly index: number;
  readonly end: number;
}

/** Values whose words are in a text. */
export interface Match {
  /** The values, the longest first. Undefined if they are too many: then any text with these words counts as one. */
  readonly values: readonly string[] | undefined;
  /** The start of the first word. */
  readonly start: number;
  /** The end of the last word. */
  readonly end: number;
}

/** The most values with the same words, which differ in punctuation only, that are distinguished. */
const mostAlike = 50;

/** Values by all their words, so that a text takes a time that does not depend on the number of values. */
export interface WordIndex {
  readonly add: (value: string, words: readonly string[]) => void;
  readonly remove: (value: string, words: readonly string[]) => void;
  /** Yields the values whose words are those of a text from a position on, those with the most words first. */
  readonly at: (text: readonly Word[], position: number) => Iterable<Match>;
}

/** Scripts that put no spaces between words. */
export const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u;

/** A word, or a single character of a script without spaces. */
export const wordPattern: RegExp = new RegExp(
  `(?=[\\p{L}\\p{N}])${unspaced.source}|(?:(?!${unspaced.source})[\\p{L}\\p{N}])+`,
  "gu",
);

/** Returns the words of a text and their positions. */
export const wordsIn = (text: string): readonly Word[] =>
  Array.from(text.matchAll(wordPattern), ({ 0: word, index }) => ({
    word: word.toLowerCase(),
    index,
    end: index + word.length,
  }));

const longestFirst = (one: string, other: string) => other.length - one.length;

export function createWordIndex(): WordIndex {
  const byWords = new Map<string, Set<string>>();
  /** How many values begin with a word, by the number of their words. */
  const counts = new Map<string, Map<number, number>>();

  return {
    add(value, words) {
      const key = words.join(" ");
      const [first = ""] = words;
      byWords.set(key, (byWords.get(key) ?? new Set()).add(value));
      const lengths = counts.get(first) ?? new Map<number, number>();
      counts.set(first, lengths.set(words.length, (lengths.get(words.length) ?? 0) + 1));
    },
    remove(value, words) {
      const key = words.join(" ");
      const [first = ""] = words;
      const values = byWords.get(key);
      values?.delete(value);
      if (values?.size === 0) byWords.delete(key);
      const lengths = counts.get(first);
      const number = (lengths?.get(words.length) ?? 0) - 1;
      if (number > 0) lengths?.set(words.length, number);
      else lengths?.delete(words.length);
      if (lengths?.size === 0) counts.delete(first);
    },
    *at(text, position) {
      const lengths = counts.get(text[position]?.word ?? "")?.keys() ?? [];
      for (const count of Array.from(lengths).toSorted((one, other) => other - one)) {
        const words = text.slice(position, position + count);
        const values = byWords.get(words.map(({ word }) => word).join(" "));
        if (!values) continue;
        const isDistinct = values.size <= mostAlike;
        yield {
          values: isDistinct ? Array.from(values).toSorted(longestFirst) : undefined,
          start: words[0]?.index ?? 0,
          end: words.at(-1)?.end ?? 0,
        };
      }
    },
  };
}
