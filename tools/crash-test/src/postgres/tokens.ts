/** A part of an SQL text. Comments are left out, and literals are emptied, because they may contain anything. */
export interface Token {
  /** `word`: a keyword, or a name that is not quoted. `name`: a quoted name. */
  readonly kind: "word" | "name" | "other";
  /** Words are in lower case, as PostgreSQL reads them; quoted names keep their case, without the quotes. */
  readonly text: string;
}

const space = /\s+|--[^\n]*/y;
const dollarQuote = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const escapeString = /e'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)/iy;
const string = /(?:[bnx]|u&)?'(?:[^']|'')*(?:'|$)/iy;
const quotedName = /(?:u&)?"((?:[^"]|"")*)(?:"|$)/iy;
const word = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const other = /\$\d+|\d[\d.]*|[\s\S]/uy;

/** Splits an SQL text into tokens as PostgreSQL does. */
export function tokensOf(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = offset;
    const match = pattern.exec(sql) ?? undefined;
    if (match) offset += match[0].length;
    return match;
  };
  while (offset < sql.length) {
    if (take(space)) continue;
    if (sql.startsWith("/*", offset)) {
      offset = endOfComment(sql, offset);
      continue;
    }
    const quote = take(dollarQuote);
    if (quote) {
      const end = sql.indexOf(quote[0], offset);
      offset = end === -1 ? sql.length : end + quote[0].length;
    }
    if (quote || take(escapeString) || take(string)) {
      tokens.push({ kind: "other", text: "''" });
      continue;
    }
    const quoted = take(quotedName);
    if (quoted) {
      tokens.push({ kind: "name", text: (quoted[1] ?? "").replaceAll('""', '"') });
      continue;
    }
    const plain = take(word);
    const text = (plain ?? take(other))?.[0] ?? "";
    tokens.push(plain ? { kind: "word", text: text.toLowerCase() } : { kind: "other", text });
  }
  return tokens;
}

/** Returns the position after a comment. Comments nest in PostgreSQL. */
function endOfComment(sql: string, start: number): number {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = start;
  let depth = 0;
  for (let match = edge.exec(sql); match; match = edge.exec(sql)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return sql.length;
}

/** Returns the non-empty statements of a text. */
export function statementsIn(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const statements: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind === "other" && token.text === ";") statements.push([]);
    else statements.at(-1)?.push(token);
  }
  return statements.filter((statement) => statement.length > 0);
}
