import { escapeMistake, unescaped } from "./escapes.js";
import type { MistakeId } from "../mistakes.js";

/** A text that a JSON serialiser may have written for the body, and the mistake that it shows. */
export interface JsonText {
  readonly id: MistakeId;
  readonly text: string;
  /** Whether tools also write it with a newline at its end. */
  readonly file: boolean;
}

/** The way in which a serialiser separates tokens. */
interface Layout {
  readonly id: MistakeId;
  /** One level of indentation. Default: everything on one line. */
  readonly indent?: string;
  readonly comma: string;
  readonly colon: string;
}

const compact: Layout = { id: "reserialised_json", comma: ",", colon: ":" };
const layouts: readonly Layout[] = [
  compact,
  { id: "spaced_json", comma: ", ", colon: ": " },
  ...["  ", "    ", "\t"].map((indent): Layout => ({
    id: "pretty_printed_json",
    indent,
    comma: ",",
    colon: ": ",
  })),
];

/**
 * The maximum nesting depth of JSON that is indented. Deeper JSON is skipped, because the length of the result
 * grows with the square of the depth.
 */
const deepestIndent = 500;

const codeUnit = (character: string) => character.charCodeAt(0).toString(16).padStart(4, "0");
const escaped = (character: string) => `\\u${codeUnit(character)}`;

/**
 * The ways in which serialisers write the characters of strings, from a text that escapes only what JSON
 * requires.
 */
const styles: readonly ((json: string) => string)[] = [
  (json) => json,
  (json) => json.replaceAll("/", String.raw`\/`),
  // Python
  (json) => json.replaceAll(/[^\0-~]/g, escaped),
  // PHP
  (json) => json.replaceAll(/[^\0-\x7f]/g, escaped).replaceAll("/", String.raw`\/`),
  // Go and Rails
  (json) => json.replaceAll(/[<>&\u2028\u2029]/g, escaped),
  // .NET
  (json) =>
    json
      .replaceAll(/\\./g, (given) => (given === String.raw`\"` ? String.raw`\u0022` : given))
      .replaceAll(/[^\0-~]|[<>&'+`]/g, (unit) => `\\u${codeUnit(unit).toUpperCase()}`),
];

/**
 * Yields texts of the same JSON, the simplest mistakes first; none if the body is not JSON. It yields undefined
 * after other work on the whole body, so that its caller can let others run.
 */
export function* jsonTexts(body: string): Generator<JsonText | undefined> {
  const parsed = attempt((): unknown => JSON.parse(body));
  if (parsed === undefined) return;
  yield undefined;
  const kept = unescaped(body);
  yield undefined;
  const mistakeIn = escapeMistake(body);
  for (const text of styled(kept)) yield { id: mistakeIn(text) ?? compact.id, text, file: false };

  // JavaScript changes numbers, duplicate keys and the order of keys; other languages keep them.
  const stringified = attempt(() => JSON.stringify(parsed));
  yield undefined;
  const laidOut = layOut(tokensOf(kept), compact);
  yield undefined;
  const sorted = attempt(() => sortedJson(parsed));
  yield undefined;
  const isSorted = sorted === undefined || haveSameKeys(kept, sorted);
  const sources = new Map<string, MistakeId | undefined>();
  for (const [source, id] of [
    [stringified, undefined],
    [laidOut, undefined],
    [sorted, isSorted ? undefined : ("sorted_keys" as const)],
  ] as const) {
    if (source !== undefined && !sources.has(source)) sources.set(source, id);
  }
  yield undefined;
  const given = tokensOf(body);
  const layoutIds = new Map<Layout, MistakeId>();
  for (const layout of layouts) {
    yield undefined;
    layoutIds.set(layout, layoutMistake(body, given, layout));
  }
  for (const [source, sourceId] of sources) {
    for (const json of styled(source)) {
      yield undefined;
      const tokens = tokensOf(json);
      if (tokens.length === 0) continue;
      for (const [layout, layoutId] of layoutIds) {
        const text = layOut(tokens, layout);
        if (text !== undefined) yield { id: sourceId ?? layoutId, text, file: true };
      }
    }
  }
}

function* styled(json: string): Generator<string> {
  for (const [index, write] of styles.entries()) {
    const text = write(json);
    // Most bodies contain nothing to escape.
    if (index === 0 || text !== json) yield text;
  }
}

/** Returns the mistake that a layout shows, unless the body has this layout already. */
function layoutMistake(body: string, tokens: readonly string[], layout: Layout): MistakeId {
  const bare = body.trim();
  const isLaidOut =
    layout.indent === undefined ? layOut(tokens, layout) === bare : /\n[ \t]/.test(bare);
  return isLaidOut ? compact.id : layout.id;
}

function haveSameKeys(one: string, other: string): boolean {
  const keys = keysOf(other);
  return keysOf(one).every((key, index) => key === keys[index]);
}

/** Returns the keys of all objects, in the order of the text. */
const keysOf = (json: string): readonly string[] =>
  tokensOf(json).filter((_, index, tokens) => tokens[index + 1] === ":");

/**
 * Returns the result, or undefined after a stack overflow: deep values overflow the stack of a serialiser, and
 * millions of escapes that of an expression.
 */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${sortedJson(one)}`).join(",")}}`;
}

// Strings are unrolled: an alternative for each character would overflow the stack of the expression.
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

const tokensOf = (json: string): readonly string[] => attempt(() => json.match(token)) ?? [];

/** Lays the tokens out. Returns undefined for JSON that is nested too deeply to be indented. */
function layOut(tokens: readonly string[], { indent, comma, colon }: Layout): string | undefined {
  const parts: string[] = [];
  let depth = 0;
  let afterOpening = false;
  const newline = () => (indent === undefined ? "" : `\n${indent.repeat(depth)}`);
  for (const one of tokens) {
    const isClosing = one === "]" || one === "}";
    if (isClosing) depth -= 1;
    // An empty array or object stays on one line.
    if (afterOpening !== isClosing) parts.push(newline());
    afterOpening = one === "[" || one === "{";
    if (afterOpening) depth += 1;
    if (indent !== undefined && depth > deepestIndent) return undefined;
    if (one === ",") parts.push(comma, newline());
    else parts.push(one === ":" ? colon : one);
  }
  return parts.join("");
}
