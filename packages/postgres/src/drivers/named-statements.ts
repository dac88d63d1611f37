import { createHash } from "node:crypto";
import { queryOver, type Client, type Query, type Row } from "../database.js";

/** The form of a pg client's `query` that the types of the store's clients omit. */
interface NamingClient {
  query(statement: { name: string; text: string; values: string[] }): ReturnType<Client["query"]>;
}

/**
 * Returns the name of a statement. It depends only on the text, so that no other schema and no other version of the
 * package uses it for another statement.
 */
const nameOf = (text: string): string =>
  `svc_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;

/** The codes for a name that the server does not know, and for one that it knows from another client. */
const nameLost = new Set(["26000", "42P05"]);

/**
 * The code for a named statement whose result type has changed since the server parsed the statement. Other errors have
 * this code too. Their messages do not distinguish them, because messages depend on the server's language.
 */
const planOutdated = "0A000";

/** Statements outside of transactions that pg sends under names, so that the server parses each once per connection. */
export interface NamedStatements {
  /**
   * Returns a function that runs statements on a client. After an error about a name, it repeats the statement without
   * a name, which is safe because the server has not run it, and no longer names the statements of this client.
   */
  readonly over: (client: Client) => Query;
  /** Returns one text if a name was lost. */
  readonly problems: () => readonly string[];
}

export function namedStatements(): NamedStatements {
  // Needs no limit, because the store has only about ten different statements.
  const names = new Map<string, string>();
  const unnamed = new WeakSet<Client>();
  let hasLostName = false;

  return {
    over: (client) => async (text, values) => {
      if (unnamed.has(client)) return queryOver(client)(text, values);
      const name = names.get(text) ?? nameOf(text);
      names.set(text, name);
      try {
        const naming = client as unknown as NamingClient;
        return (await naming.query({ name, text, values: [...values] })).rows as readonly Row[];
      } catch (error) {
        const { code = "" } = Object(error) as { readonly code?: string };
        if (nameLost.has(code)) hasLostName = true;
        else if (code !== planOutdated) throw error;
        unnamed.add(client);
        return queryOver(client)(text, values);
      }
    },
    problems: () =>
      hasLostName
        ? [
            "A connection did not know the name of a prepared statement, or knew it from another client, so it no longer uses names. The cause is probably a pooler in transaction mode. Remove `prepare` from the store's options, or set `max_prepared_statements` if the pooler is PgBouncer 1.21 or newer.",
          ]
        : [],
  };
}
