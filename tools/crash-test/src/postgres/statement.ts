import type { Crossing } from "../history.js";
import { tablesIn } from "./tables.js";
import { statementsIn, tokensOf, type Token } from "./tokens.js";
import { storeCallOf } from "./store.js";

/** The facts that a report needs about an SQL text. */
export interface StatementFacts extends Pick<Crossing, "name" | "kind" | "effects" | "reads"> {
  /** Whether the text begins a transaction. */
  readonly begins: boolean;
  /** How the text ends a transaction. Undefined if it does not. */
  readonly ends: "commit" | "rollback" | undefined;
}

/** Returns the facts of the text of one message, which may contain several statements. */
export function factsOfStatement(sql: string): StatementFacts {
  const tokens = tokensOf(sql);
  const statements = statementsIn(tokens);
  const begins = statements.some(isBegin);
  const ends = statements.map(endOf).findLast((end) => end !== undefined);
  const call = storeCallIn(tokens);
  if (call !== undefined) {
    const name = ends === "commit" ? `${call} and commit` : call;
    return { name, kind: "store", effects: [], reads: [], begins, ends };
  }
  const tables = statements.map(tablesIn);
  const effects = [...new Set(tables.flatMap(({ written }) => written.map(({ table }) => table)))];
  const reads = [...new Set(tables.flatMap(({ read }) => read))];
  // If no statement writes a table, a text that begins a transaction is named `begin`, even if it also reads tables.
  const ofTables = statements.find((_tokens, index) => Number(tables[index]?.written.length) > 0);
  const own = begins
    ? statements[0]
    : statements.find((statement) => endOf(statement) === undefined);
  const main = ofTables ?? own;
  return {
    name: nameOf(main ?? statements[0]),
    kind: "statement",
    effects,
    reads: reads.filter((table) => !effects.includes(table)),
    begins,
    ends,
  };
}

const isBegin = ([first, second]: readonly Token[]): boolean =>
  first?.text === "begin" || (first?.text === "start" && second?.text === "transaction");

/** Returns how a statement ends the transaction, if it does. `commit prepared` and `rollback to` do not end it. */
function endOf([first, ...others]: readonly Token[]): StatementFacts["ends"] {
  if (others.some(({ text }) => text === "prepared" || text === "to")) return undefined;
  if (first?.text === "commit" || first?.text === "end") return "commit";
  return first?.text === "rollback" || first?.text === "abort" ? "rollback" : undefined;
}

function storeCallIn(tokens: readonly Token[]): string | undefined {
  const calls = tokens.map(({ kind, text }, index) =>
    kind !== "other" && tokens[index + 1]?.text === "(" ? storeCallOf(text) : undefined,
  );
  return calls.find((call) => call !== undefined);
}

function nameOf(statement: readonly Token[] = []): string {
  const { written, read } = tablesIn(statement);
  const [first] = written;
  if (first) return shortened(`${first.verb} ${first.table}`);
  const [source] = read;
  const verb = statement[0]?.text === "with" ? "select" : (statement[0]?.text ?? "");
  if (source !== undefined) return shortened(`${verb} from ${source}`);
  const end = statement.findIndex(({ text }) => text === "(" || text === ",");
  const shown = end > 0 ? statement.slice(0, end) : statement;
  const text = shown.map((token) => token.text).join(" ");
  return text === "" ? "an empty statement" : shortened(text.replaceAll(" . ", "."));
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
