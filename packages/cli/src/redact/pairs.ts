import { rewriteJson, type JsonToken } from "./json-text.js";
import { isVocabulary, wordsOf, type NameRules } from "./names.js";

/** The members that name the value next to them: `{ "name": "Authorization", "value": "…" }`. */
const labelNames: ReadonlySet<string> = new Set(
  "name key label field property attribute field_name property_name attribute_name".split(" "),
);

const valueNames: ReadonlySet<string> = new Set(
  "value values new_value old_value property_value field_value answer from_string to_string".split(
    " ",
  ),
);

/** A token with the names that decide about it. */
export interface Labelled {
  readonly token: JsonToken;
  /** The names around the token. The label of a pair stands in place of `value`. */
  readonly names: readonly string[];
  /** Whether the token is a label that identifies nobody, and stays. */
  readonly isKept: boolean;
}

/** Rewrites a JSON text as `rewriteJson` does, and finds the lists of labels and values in it. */
export function rewriteLabelled(
  text: string,
  rules: NameRules,
  rewrite: (labelled: Labelled) => string | undefined,
): string {
  const labels = labelsIn(text, rules);
  return rewriteJson(text, (token) => {
    if (labels.size === 0) return rewrite({ token, names: token.names, isKept: false });
    const labelled = token.names.map((name, index) => {
      const label = labels.get(token.objects[index] ?? -1);
      return label !== undefined && valueNames.has(joined(name)) ? label : name;
    });
    // An account number may be given in parts.
    const account = labelled.findIndex(
      (name, index) => name !== token.names[index] && rules.kindOf([name]) === "account",
    );
    const names = account < 0 ? labelled : labelled.slice(0, account + 1);
    const isLabel =
      token.type === "string" &&
      labels.has(token.objects.at(-1) ?? -1) &&
      labelNames.has(joined(token.names.at(-1) ?? ""));
    const isKept = isLabel && isPlain(token.value, joined(token.names.at(-1) ?? ""));
    return rewrite({ token, names, isKept });
  });
}

/** Returns the label of each object that has a value next to it, by the position of the object. */
function labelsIn(text: string, rules: NameRules): ReadonlyMap<number, string> {
  const labels = new Map<number, string>();
  if (!/value|answer|string|\\u/i.test(text)) return labels;
  const withValue = new Set<number>();
  rewriteJson(text, ({ type, value, names, objects }) => {
    const object = objects.at(-1) ?? -1;
    if (type === "name") {
      if (valueNames.has(joined(value))) withValue.add(object);
      return undefined;
    }
    const name = joined(names.at(-1) ?? "");
    if (type === "string" && (labelNames.has(name) || isInput(name, value))) {
      const label = labelOf(value, name, rules);
      if (!labels.has(object) || label !== unknownLabel) labels.set(object, label);
    }
    return undefined;
  });
  for (const object of labels.keys()) if (!withValue.has(object)) labels.delete(object);
  return labels;
}

/** Stands for a label that is not known, so that the value is replaced like a text. */
const unknownLabel = "text";

const labelOf = (value: string, name: string, rules: NameRules): string =>
  rules.kindOf([value]) !== undefined || isPlain(value, name) ? value : unknownLabel;

/** Returns whether a member is the type of a form's field, as those of Slack, whose value a person wrote. */
const isInput = (name: string, value: string) => name === "type" && value.endsWith("_input");

/** Returns whether a label is a known name or a word of code, and not a person's name. */
function isPlain(label: string, name: string): boolean {
  const words = wordsOf(label);
  if (words.length > 0 && words.every((word) => word === "x" || isVocabulary(word))) return true;
  if (/^[a-z]+(?:_[a-z]+)+$/.test(label)) return true;
  return !name.endsWith("name") && /^[a-z]+(?:[-.][a-z]+)*$/.test(label);
}

const joined = (name: string) => wordsOf(name).join("_");
