import { secondText, sqlOf, textAt, type Message } from "@svc-webhooks/crash-test/postgres";

/** Finds the SQL texts that a connection executes. Keeps the texts of prepared statements by their names. */
export class Statements {
  readonly #prepared = new Map<string, string>();

  /** Returns the SQL text that a message executes, or undefined if it executes none. */
  read(message: Message): string | undefined {
    const { type, body } = message;
    if (type === "B") return this.#prepared.get(secondText(body)) ?? "";
    const sql = sqlOf(message);
    if (type !== "P") return sql;
    this.#prepared.set(textAt(body, 0), sql ?? "");
    return undefined;
  }
}

/** Reads the parameters of a startup message, such as `user` and `database`. */
export function startupParameters({ body }: Message): Readonly<Record<string, string>> {
  const texts = body.toString("utf8", 4).split("\0");
  const pairs: [string, string][] = [];
  for (let index = 0; texts[index]; index += 2)
    pairs.push([texts[index] ?? "", texts[index + 1] ?? ""]);
  return Object.fromEntries(pairs);
}
