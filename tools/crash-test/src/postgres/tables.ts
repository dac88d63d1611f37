import type { Token } from "./tokens.js";

/** The tables that a statement names, in order, without those that it defines in `with`. */
export interface Tables {
  /** The tables that the statement writes, each with the words before its name: `insert into`. */
  readonly written: readonly { readonly verb: string; readonly table: string }[];
  readonly read: readonly string[];
}

/** Words before an `update` that is part of a clause: `for update`, `do update`, `when matched then update`. */
const beforeClause: ReadonlySet<string> = new Set(["for", "key", "do", "then", "on", "or", "of"]);
/** Words before the events in the definition of a trigger, such as `before update`. */
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
  const wordAt = (position: number) => wordIn(statement, position);
  const isCopy = wordAt(0) === "copy";
  const defined = definedIn(statement);
  /** For each open parenthesis, whether it encloses the arguments of a function in {@link withFrom}. */
  const open: boolean[] = [];

  for (let position = 0; position < statement.length; position += 1) {
    const { kind, text } = statement[position] ?? {};
    if (kind === "other" && text === "(") open.push(withFrom.has(wordAt(position - 1) ?? ""));
    if (kind === "other" && text === ")") open.pop();
    if (kind === "word") visit(text ?? "", position);
  }
  return { written, read: [...new Set(read)].filter((table) => !defined.has(table)) };

  function visit(word: string, position: number): void {
    const before = wordAt(position - 1) ?? "";
    if (ofTrigger.has(before)) return;
    if ((word === "insert" || word === "merge") && wordAt(position + 1) === "into") {
      write(`${word} into`, position + 2);
    } else if (word === "delete" && wordAt(position + 1) === "from")
      write("delete from", position + 2);
    else if (word === "update" && !beforeClause.has(before)) write("update", position + 1);
    else if (word === "truncate")
      writeAll("truncate", wordAt(position + 1) === "table" ? position + 2 : position + 1);
    else if (word === "copy" && position === 0) copy();
    else if (word === "from" && (before === "distinct" || before === "delete" || isCopy)) {
      // Skips `is distinct from`, and `delete from` and `copy … from`, which are handled above. Only the `from` in the
      // subquery of a `copy` names tables that are read.
      if (isCopy && open.length > 0) readAll(position + 1);
    } else if (word === "from" && open.at(-1) !== true) readAll(position + 1);
    else if (word === "join" || word === "using") readOne(position + 1);
  }

  function copy(): void {
    const table = nameIn(statement, 1);
    if (!table) return;
    const from = statement.findIndex(
      (_token, position) => position >= table.end && wordAt(position) === "from",
    );
    if (from === -1) read.push(table.name);
    else written.push({ verb: "copy", table: table.name });
  }

  function write(verb: string, position: number): number | undefined {
    const table = nameIn(statement, wordAt(position) === "only" ? position + 1 : position);
    if (table) written.push({ verb, table: table.name });
    return table?.end;
  }

  function writeAll(verb: string, first: number): void {
    let end = write(verb, first);
    while (end !== undefined && statement[end]?.text === ",") end = write(verb, end + 1);
  }

  function readOne(first: number): number | undefined {
    const table = nameIn(
      statement,
      wordAt(first) === "only" || wordAt(first) === "lateral" ? first + 1 : first,
    );
    if (!table || statement[table.end]?.text === "(") return undefined;
    read.push(table.name);
    return table.end;
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

function wordIn(statement: readonly Token[], position: number): string | undefined {
  const token = statement[position];
  return token?.kind === "word" ? token.text : undefined;
}

/** Reads the name at a position, with its schema unless that is `public`. Returns undefined if there is no name. */
function nameIn(
  statement: readonly Token[],
  position: number,
): { readonly name: string; readonly end: number } | undefined {
  const [first, dot, second] = statement.slice(position, position + 3);
  if (!first || first.kind === "other") return undefined;
  if (first.kind === "word" && (first.text === "select" || afterTable.has(first.text))) {
    return undefined;
  }
  if (dot?.text !== "." || !second || second.kind === "other") {
    return { name: first.text, end: position + 1 };
  }
  const name = first.text === "public" ? second.text : `${first.text}.${second.text}`;
  return { name, end: position + 3 };
}

/** Returns the names of the tables that a statement defines in `with`. */
function definedIn(statement: readonly Token[]): ReadonlySet<string> {
  if (!statement.some((_token, position) => wordIn(statement, position) === "with"))
    return new Set();
  const names = statement.flatMap(({ kind, text }, position) => {
    if (kind === "other" || text === "as") return [];
    let end = position + 1;
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
