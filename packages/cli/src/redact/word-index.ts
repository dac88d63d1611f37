/** A word of a text in lower case. */
export interface Word {
  readonly word: string;
  readonly index: number;
}

/** The most values with the same words, which differ in punctuation only. */
const mostAlike = 50;

/** Values by all their words, so that a text takes a time that does not depend on the number of values. */
export interface WordIndex {
  readonly add: (value: string, words: readonly string[]) => void;
  readonly remove: (value: string, words: readonly string[]) => void;
  /** Yields the values whose words are those of a text from a position on, those with the most words first. */
  readonly at: (text: readonly Word[], position: number) => Iterable<string>;
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
  }));

export function createWordIndex(): WordIndex {
  const byWords = new Map<string, readonly string[]>();
  /** How many values begin with a word, by the number of their words. */
  const counts = new Map<string, Map<number, number>>();

  return {
    add(value, words) {
      const key = words.join(" ");
      const [first = ""] = words;
      byWords.set(
        key,
        [value, ...(byWords.get(key) ?? [])]
          .slice(0, mostAlike)
          .toSorted((one, other) => other.length - one.length),
      );
      const lengths = counts.get(first) ?? new Map<number, number>();
      counts.set(first, lengths.set(words.length, (lengths.get(words.length) ?? 0) + 1));
    },
    remove(value, words) {
      const key = words.join(" ");
      const [first = ""] = words;
      const left = (byWords.get(key) ?? []).filter((one) => one !== value);
      if (left.length > 0) byWords.set(key, left);
      else byWords.delete(key);
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
        yield* byWords.get(words.map(({ word }) => word).join(" ")) ?? [];
      }
    },
  };
}
