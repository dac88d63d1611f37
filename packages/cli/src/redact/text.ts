import { assignmentsIn } from "./assignments.js";
import { decodedText, percentDecodedParts, readable } from "./encodings.js";
import {
  displayNamesIn,
  isDate,
  isMixed,
  isUuid,
  longHex,
  longMixed,
  matching,
  strongForms,
  type Form,
} from "./forms.js";
import { isJsonText } from "./json-text.js";
import type { Learned } from "./learned.js";
import type { Kind } from "./names.js";
import type { Substitutes } from "./substitutes.js";
import { urlPattern } from "./urls.js";

/**
 * How much of a text is searched: `full` for values, `structure` for ids, types and states, whose single words and
 * tokens stay.
 */
export type Depth = "full" | "structure";

export interface TextRules {
  /** Replaces sensitive text by its form, and learned values. */
  readonly redact: (text: string, depth: Depth, level?: number) => string;
  /** Replaces by form, and then the rest with `rest`. */
  readonly redactAll: (text: string, rest: (text: string) => string, level: number) => string;
}

export interface TextContext {
  readonly substitutes: Substitutes;
  readonly learned: Learned;
  /** Returns whether a token is an id of the capture, which stays. */
  readonly isKeptId: (token: string) => boolean;
  readonly json: (text: string, level: number) => string;
  readonly url: (text: string, level: number) => string;
  readonly kindOf: (name: string) => Kind | undefined;
}

/** The number of encodings that are searched within each other. Deeper texts are replaced as a whole. */
const mostLevels = 5;

export function createTextRules(context: TextContext): TextRules {
  const { substitutes, learned, isKeptId } = context;
  const { whole, words } = substitutes;
  const strong = strongForms(substitutes);
  const names: Form = { find: displayNamesIn, replace: words };

  /** Forms of encoded text, which is searched with one more level. */
  const encodedForms = (depth: Depth, level: number): readonly Form[] => [
    matching(/(?<![^\s"'<>])[^\s"'<>]*?%[\da-f]{2}[^\s"'<>]*/gi, (found) => {
      const text = percentDecodedParts(found);
      if (text === found) return undefined;
      const written = redact(text, depth, level + 1);
      return written === text ? undefined : encodeURIComponent(written);
    }),
    matching(/(?<![\w+/=-])[\w+/-]{12,}={0,2}(?![\w+/=-])/g, (found) => {
      const decoded = decodedText(found);
      if (!decoded) return undefined;
      const written = redact(decoded.text, depth, level + 1);
      return written === decoded.text ? undefined : decoded.encode(written);
    }),
  ];

  const tokens: readonly Form[] = [longHex, longMixed].map((pattern) =>
    matching(pattern, (found) => {
      if (isKeptId(found) || (pattern === longMixed && !isMixed(found))) return undefined;
      return whole(found);
    }),
  );

  const assigned: Form = {
    find: (found) => assignmentsIn(found, context.kindOf),
    replace: whole,
  };

  const formsAt = (depth: Depth, level: number): readonly Form[] => [
    matching(urlPattern, (found) => context.url(found, level)),
    names,
    ...strong,
    ...encodedForms(depth, level),
    ...learned.forms(depth === "structure"),
    ...(depth === "full" ? [assigned, ...tokens] : []),
  ];

  const once = (text: string, depth: Depth, level: number): string =>
    replaced(text, formsAt(depth, level));

  function redact(text: string, depth: Depth, level = 0): string {
    if (text.trim() === "") return text;
    if (level > mostLevels) return whole(text);
    if (isDate(text)) return text;
    if (isUuid(text)) return replaced(text, learned.forms(true));
    if (isJsonText(text)) return context.json(text, level + 1);
    const plain = readable(text);
    if (plain !== text) {
      const written = once(plain, depth, level);
      if (written !== plain) return written;
    }
    return once(text, depth, level);
  }

  return {
    redact,
    redactAll: (text, rest, level) =>
      replaced(readable(text), [
        matching(urlPattern, (found) => context.url(found, level)),
        names,
        ...strong,
        ...learned.forms(false),
        matching(/[^]+/g, (found) => (hasContent(found) || found === text ? rest(found) : found)),
      ]),
  };
}

/** Returns whether a text has more than ASCII punctuation and white space. */
export const hasContent = (text: string): boolean => /[A-Za-z\d]|[^\0-\u007f]/.test(text);

interface Piece {
  readonly text: string;
  readonly isDone: boolean;
}

/** Replaces forms one after the other. A substitute is not searched again. */
function replaced(text: string, forms: readonly Form[]): string {
  let pieces: readonly Piece[] = [{ text, isDone: false }];
  for (const form of forms) {
    pieces = pieces.flatMap((piece) => (piece.isDone ? [piece] : piecesOf(piece.text, form)));
  }
  return pieces.map((piece) => piece.text).join("");
}

function piecesOf(text: string, { find, replace }: Form): readonly Piece[] {
  const pieces: Piece[] = [];
  let kept = 0;
  for (const [start, end] of find(text)) {
    const written = replace(text.slice(start, end));
    if (written === undefined) continue;
    if (start > kept) pieces.push({ text: text.slice(kept, start), isDone: false });
    pieces.push({ text: written, isDone: true });
    kept = end;
  }
  if (kept < text.length) pieces.push({ text: text.slice(kept), isDone: false });
  return pieces;
}
