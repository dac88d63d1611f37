import { randomBytes } from "node:crypto";
import { numberLike, substituteOf } from "./by-name.js";
import { percentDecodedParts, readable } from "./encodings.js";
import { cardLike, displayNamesIn, isDate } from "./forms.js";
import { hostLike } from "./hosts.js";
import { isJsonText } from "./json-text.js";
import { createLearned, type LearnedOptions } from "./learned.js";
import { isId, nameRules } from "./names.js";
import { rewriteLabelled, type Labelled } from "./pairs.js";
import { createSubstitutes } from "./substitutes.js";
import { createTextRules } from "./text.js";
import { createUrlRules } from "./urls.js";

export interface RedactorOptions {
  /** Names whose values are replaced, in addition to the known ones. */
  readonly names?: readonly string[];
  /** The key of the substitutes. Default: a random one, which is stored nowhere. */
  readonly key?: Uint8Array;
  /** The limit of what is remembered. Without it, every value of the run is. */
  readonly memory?: LearnedOptions;
}

/** Replaces personal data and secrets. Equal values get equal substitutes from one redactor. */
export interface Redactor {
  /** Remembers the values in a JSON text or a form, so that they are replaced wherever they occur. */
  readonly learn: (text: string) => void;
  /** Remembers the value of a header or a parameter. */
  readonly learnField: (name: string, value: string) => void;
  /**
   * Rewrites a JSON text. What is not replaced keeps its characters.
   *
   * @throws SyntaxError if the text is not JSON
   */
  readonly json: (text: string) => string;
  /** Rewrites `application/x-www-form-urlencoded` text. */
  readonly form: (text: string) => string;
  /** Rewrites the path and the query of a request. */
  readonly path: (text: string) => string;
  /** Rewrites the value of a header or a parameter. */
  readonly field: (name: string, value: string) => string;
  /** Rewrites any text. */
  readonly text: (text: string) => string;
}

/** The most ids of a run that are remembered. A token in a text that is a further one is replaced. */
const mostIds = 100_000;

export function createRedactor({
  names: chosen = [],
  key,
  memory = {},
}: RedactorOptions = {}): Redactor {
  const substitutes = createSubstitutes(key ?? randomBytes(32));
  const names = nameRules(chosen);
  const learned = createLearned(substitutes, memory);
  const ids = new Set<string>();

  const text = createTextRules({
    substitutes,
    learned,
    isKeptId: (token) => ids.has(token),
    kindOf: (name) => names.kindOf([name]),
    json: (one, level) => json(one, level),
    // A URL may be a parameter of another one.
    url: (one, level) => urls.url(one, level + 1),
  });

  const urls = createUrlRules({
    names,
    whole: substitutes.whole,
    redact: (one, level) => text.redact(one, "full", level),
    byName,
    isKeptId: (token) => ids.has(token),
    host: (host) => {
      const written = text.redact(host, "structure");
      return written === host ? host : hostLike(host, substitutes);
    },
  });

  function byName(around: readonly string[], value: string, level = 0): string {
    const kind = names.kindOf(around);
    if (kind !== undefined) return substituteOf(kind, value, substitutes, text, level);
    return text.redact(value, names.isStructural(around.at(-1)) ? "structure" : "full", level);
  }

  const rewrite = (level: number) => (labelled: Labelled) => {
    const { token, names: within, isKept } = labelled;
    if (isKept) return undefined;
    if (token.type === "name") return text.redact(token.value, "full", level);
    if (token.type === "string") return byName(within, token.value, level);
    const kind = names.kindOf(within);
    const { value } = token;
    return (kind && numberLike(value, kind, substitutes)) ?? numberByForm(value);
  };

  const numberByForm = (value: string): string | undefined => {
    if (!/^\d{7,19}$/.test(value)) return undefined;
    const card = cardLike(value, substitutes);
    if (card !== undefined) return card;
    const written = learned.forms(true).reduce((one, { replace, find }) => {
      const [[start, end] = [0, 0]] = find(one);
      return start === 0 && end === one.length && end > 0 ? (replace(one) ?? one) : one;
    }, value);
    return /^[1-9]\d*$/.test(written) ? written : undefined;
  };

  const json = (one: string, level: number): string => rewriteLabelled(one, names, rewrite(level));

  function learnValue(around: readonly string[], value: string, level: number): void {
    const last = around.at(-1);
    const kind = names.kindOf(around);
    if (last !== undefined && isId(last) && kind === undefined && ids.size < mostIds)
      ids.add(value);
    const plain = readable(value);
    for (const [start, end] of displayNamesIn(plain)) {
      learned.add(plain.slice(start, end).replaceAll('"', ""), "name");
    }
    if (kind !== undefined && kind !== "text" && !isJsonText(value)) learned.add(value, kind);
    if (level < 4 && isJsonText(value)) learnJson(value, level + 1);
  }

  function learnJson(one: string, level: number): void {
    rewriteLabelled(one, names, ({ token: { type, value }, names: around, isKept }) => {
      if (isKept) return undefined;
      if (type === "string") learnValue(around, value, level);
      const kind = type === "number" ? names.kindOf(around) : undefined;
      if (kind !== undefined && /^\d{6,}$/.test(value)) learned.add(value, kind);
      return undefined;
    });
  }

  const learnPairs = (query: string) => {
    for (const pair of query.split("&")) {
      const [name = "", value = ""] = pair
        .split(/=([^]*)/)
        .map((part) => percentDecodedParts(part.replaceAll("+", " ")));
      if (!isDate(value)) learnValue([name], value, 0);
    }
  };

  return {
    learn: (one) => (isJsonText(one) ? learnJson(one, 0) : learnPairs(one)),
    learnField: (name, value) => learnValue([name], value, 0),
    json: (one) => json(one, 0),
    form: (one) => urls.pairs(one, true, 0),
    path: (one) => urls.path(one, 0),
    field: (name, value) => byName([name], value),
    text: (one) => text.redact(one, "full"),
  };
}
