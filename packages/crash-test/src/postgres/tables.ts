import type { Token } from "./tokens.js";

/** The tables that a statement names, in order, without those that it defines in `with`. */
export interface Tables {
  /** The tables that the statement writes, each with the words before its name: `insert into`. */
  readonly written: readonly { readonly verb: string; readonly table: string }[];
  readonly read: readonly string[];
}

/** Words before an `update` that does not begin a statement: `for update`, `do update`, `when matched then update`. */
const beforeClause: ReadonlySet<string> = new Set(["for", "key", "do", "then", "on", "or", "of"]);
/** Words before `update` and `delete` in the definition of a trigger. */
const ofTrigger: ReadonlySet<string> = new Set(["before", "after", "instead"]);
/** Functions that have `from` between their arguments. */
const withFrom: ReadonlySet<string> = new Set(["extract", "substring", "trim", "overlay"]);
/** Words after a table's name that are not an alias for it. */
const afterTable: ReadonlySet<string> = new Set(
  "where join inner left right full cross natural on using set order group having limit offset union except intersect for returning window values select when tablesample fetch default".split(
    " ",
  ),
);

export function tablesIn(statement: readonly Token[]): Tables {
  const written: { readonly verb: string; readonly table: string }[] = [];
  const read: string[] = [];
  const wordAt = (at: number) => wordIn(statement, at);
  const isCopy = wordAt(0) === "copy";
  const defined = definedIn(statement);
  /** For each open parenthesis, whether it encloses the arguments of a function in {@link withFrom}. */
  const open: boolean[] = [];

  for (let at = 0; at < statement.length; at += 1) {
    const { kind, text } = statement[at] ?? {};
    if (kind === "other" && text === "(") open.push(withFrom.has(wordAt(at - 1) ?? ""));
    if (kind === "other" && text === ")") open.pop();
    if (kind === "word") visit(text ?? "", at);
  }
  return { written, read: [...new Set(read)].filter((table) => !defined.has(table)) };

  function visit(word: string, at: number): void {
    const before = wordAt(at - 1) ?? "";
    if (ofTrigger.has(before)) return;
    if ((word === "insert" || word === "merge") && wordAt(at + 1) === "into") {
      write(`${word} into`, at + 2);
    } else if (word === "delete" && wordAt(at + 1) === "from") write("delete from", at + 2);
    else if (word === "update" && !beforeClause.has(before)) write("update", at + 1);
    else if (word === "truncate")
      writeAll("truncate", wordAt(at + 1) === "table" ? at + 2 : at + 1);
    else if (word === "copy" && at === 0) copy();
    else if (word === "from" && (before === "distinct" || before === "delete" || isCopy)) {
      // Skips `is distinct from`, and `delete from` and `copy … from`, which are handled above. Only the `from` in the
      // subquery of a `copy` names tables that are read.
      if (isCopy && open.length > 0) readAll(at + 1);
    } else if (word === "from" && open.at(-1) !== true) readAll(at + 1);
    else if (word === "join" || word === "using") readOne(at + 1);
  }

  function copy(): void {
    const found = nameIn(statement, 1);
    if (!found) return;
    const from = statement.findIndex((_token, at) => at >= found.end && wordAt(at) === "from");
    if (from === -1) read.push(found.name);
    else written.push({ verb: "copy", table: found.name });
  }

  function write(verb: string, at: number): number | undefined {
    const found = nameIn(statement, wordAt(at) === "only" ? at + 1 : at);
    if (found) written.push({ verb, table: found.name });
    return found?.end;
  }

  function writeAll(verb: string, first: number): void {
    let end = write(verb, first);
    while (end !== undefined && statement[end]?.text === ",") end = write(verb, end + 1);
  }

  function readOne(first: number): number | undefined {
    const found = nameIn(
      statement,
      wordAt(first) === "only" || wordAt(first) === "lateral" ? first + 1 : first,
    );
    if (!found || statement[found.end]?.text === "(") return undefined;
    read.push(found.name);
    return found.end;
  }

  function readAll(first: number): void {
    let end = readOne(first);
    while (end !== undefined) {
      if (wordAt(end) === "as") end += 1;
      const alias = statement[end];
      const isAlias =
        alias?.kind === "name" || (alias?.kind === "word" && !afterTable.has(alias.text));
      if (isAlias) end += 1;
      end = statement[end]?.text === "," ? readOne(end + 1) : undefined;
    }
  }
}

function wordIn(statement: readonly Token[], at: number): string | undefined {
  const token = statement[at];
  return token?.kind === "word" ? token.text : undefined;
}

/** Reads the name at a position, with its schema unless that is `public`. Returns undefined if there is no name. */
function nameIn(
  statement: readonly Token[],
  at: number,
): { readonly name: string; readonly end: number } | undefined {
  const [first, dot, second] = statement.slice(at, at + 3);
  if (!first || first.kind === "other") return undefined;
  if (first.kind === "word" && (first.text === "select" || afterTable.has(first.text))) {
    return undefined;
  }
  if (dot?.text !== "." || !second || second.kind === "other") {
    return { name: first.text, end: at + 1 };
  }
  const name = first.text === "public" ? second.text : `${first.text}.${second.text}`;
  return { name, end: at + 3 };
}

/** Returns the names of the tables that a statement defines in `with`. */
function definedIn(statement: readonly Token[]): ReadonlySet<string> {
  if (!statement.some((_token, at) => wordIn(statement, at) === "with")) return new Set();
  const names = statement.flatMap(({ kind, text }, at) => {
    if (kind === "other" || text === "as") return [];
    let end = at + 1;
    if (statement[end]?.text === "(") {
      while (end < statement.length && statement[end]?.text !== ")") end += 1;
      end += 1;
    }
    if (wordIn(statement, end) !== "as") return [];
    end += 1;
    if (wordIn(statement, end) === "not") end += 1;
    if (wordIn(statement, end) === "materialized") end += 1;
    return statement[end]?.text === "(" ? [text] : [];
  });
  return new Set(names);
}
