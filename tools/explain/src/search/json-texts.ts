import { escapeMistake, unescaped } from "./escapes.js";
import type { MistakeId } from "../mistakes.js";

/** Text that a JSON serializer may have produced from the body, and the mistake that it indicates. */
export interface JsonText {
  readonly id: MistakeId;
  readonly text: string;
  /** Whether tools also write this text with a trailing newline. */
  readonly file: boolean;
}

/** The way a serializer separates tokens. */
interface Layout {
  readonly id: MistakeId;
  /** One level of indentation. Default: everything on one line. */
  readonly indent?: string;
  readonly comma: string;
  readonly colon: string;
}

const compact: Layout = { id: "reserialized_json", comma: ",", colon: ":" };
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
 * Returns the maximum number of indentation characters for JSON of this length. JSON that needs more is skipped,
 * because indentation grows with the square of the depth: a body of 400 kB could need gigabytes.
 */
export const mostIndentation = (length: number): number => 65_536 + 8 * length;

const codeUnit = (character: string) => character.charCodeAt(0).toString(16).padStart(4, "0");
const escaped = (character: string) => `\\u${codeUnit(character)}`;

/**
 * Functions that escape strings the way various serializers do. Each receives JSON that escapes only what JSON
 * requires.
 */
const styles: readonly ((json: string) => string)[] = [
  (json) => json,
  (json) => json.replaceAll("/", String.raw`\/`),
  // Python escapes DEL and all characters outside ASCII.
  (json) => json.replaceAll(/[^\0-~]/g, escaped),
  // PHP escapes all characters outside ASCII, and slashes.
  (json) => json.replaceAll(/[^\0-\x7f]/g, escaped).replaceAll("/", String.raw`\/`),
  // Go and Rails escape HTML's special characters and line separators.
  (json) => json.replaceAll(/[<>&\u2028\u2029]/g, escaped),
  // .NET escapes quotes, some other ASCII characters and all characters outside ASCII, with uppercase digits.
  (json) =>
    json
      .replaceAll(/\\./g, (escape) => (escape === String.raw`\"` ? String.raw`\u0022` : escape))
      .replaceAll(/[^\0-~]|[<>&'+`]/g, (unit) => `\\u${codeUnit(unit).toUpperCase()}`),
];

/**
 * Yields other serializations of a JSON body, the simplest mistakes first. Yields none if the body is not JSON. Also
 * yields undefined between steps that process the whole body, so that the caller can let other work run.
 */
export function* jsonTexts(body: string): Generator<JsonText | undefined> {
  const parsed = attempt((): unknown => JSON.parse(body));
  if (parsed === undefined) return;
  yield undefined;
  const kept = unescaped(body);
  yield undefined;
  const mistakeIn = escapeMistake(body);
  for (const text of styled(kept)) yield { id: mistakeIn(text) ?? compact.id, text, file: false };

  // Tries three forms of the JSON: as JavaScript serializes it, with the body's own tokens, and with sorted keys. The
  // first two differ if JavaScript changes numbers, removes duplicate keys or reorders keys, which other languages may
  // not do.
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
  const bodyTokens = tokensOf(body);
  const layoutIds = new Map<Layout, MistakeId>();
  for (const layout of layouts) {
    yield undefined;
    layoutIds.set(layout, layoutMistake(body, bodyTokens, layout));
  }
  for (const [source, sourceId] of sources) {
    for (const json of styled(source)) {
      yield undefined;
      const tokens = tokensOf(json);
      if (tokens.length === 0) continue;
      for (const [layout, layoutId] of layoutIds) {
        const text = layOut(tokens, layout, json.length);
        if (text !== undefined) yield { id: sourceId ?? layoutId, text, file: true };
      }
    }
  }
}

function* styled(json: string): Generator<string> {
  for (const [index, write] of styles.entries()) {
    const text = write(json);
    // Skips a style that changes nothing: most bodies contain nothing to escape.
    if (index === 0 || text !== json) yield text;
  }
}

/**
 * Returns the mistake that a layout indicates. Returns `reserialized_json` if the body already has this layout or, for
 * an indented layout, any indentation.
 */
function layoutMistake(body: string, tokens: readonly string[], layout: Layout): MistakeId {
  const bare = body.trim();
  const isLaidOut =
    layout.indent === undefined ? layOut(tokens, layout) === bare : /\n[ \t]/.test(bare);
  return isLaidOut ? compact.id : layout.id;
}

function haveSameKeys(left: string, right: string): boolean {
  const keys = keysOf(right);
  return keysOf(left).every((key, index) => key === keys[index]);
}

/** Returns the keys of all objects, in the order in which they appear. */
const keysOf = (json: string): readonly string[] =>
  tokensOf(json).filter((_, index, tokens) => tokens[index + 1] === ":");

/**
 * Returns the result of `run`, or undefined if it throws. Besides invalid JSON, the cause may be a stack overflow:
 * deeply nested values overflow the stack of a serializer, and millions of escapes overflow that of a regular
 * expression.
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
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`).join(",")}}`;
}

// The string pattern is unrolled: an alternation for each character would overflow the regular expression's stack.
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

const tokensOf = (json: string): readonly string[] => attempt(() => json.match(token)) ?? [];

/**
 * Lays out the tokens of JSON. Returns undefined if the JSON is nested too deeply to indent.
 *
 * @param length the length of the JSON. Needed only if the layout indents it
 */
function layOut(
  tokens: readonly string[],
  { indent, comma, colon }: Layout,
  length = 0,
): string | undefined {
  const most = mostIndentation(length);
  const parts: string[] = [];
  let depth = 0;
  let indentation = 0;
  let afterOpening = false;
  const newline = () => {
    if (indent === undefined) return "";
    indentation += 1 + indent.length * depth;
    return `\n${indent.repeat(depth)}`;
  };
  for (const part of tokens) {
    const isClosing = part === "]" || part === "}";
    if (isClosing) depth -= 1;
    // An empty array or object stays on one line.
    if (afterOpening !== isClosing) parts.push(newline());
    afterOpening = part === "[" || part === "{";
    if (afterOpening) depth += 1;
    if (indentation > most) return undefined;
    if (part === ",") parts.push(comma, newline());
    else parts.push(part === ":" ? colon : part);
  }
  return parts.join("");
}
