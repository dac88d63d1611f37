/** The database that the receiver processes share: PGlite, which is PostgreSQL in a process, behind a socket. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import type { Reply, Statement } from "./remote-database.js";

const pglite = new PGlite();

function serve(socket: Socket): void {
  const transactions = new Map<number, OpenTransaction>();

  const run = async ({ transaction, text, values }: Statement): Promise<Reply["rows"]> => {
    if (transaction === undefined) return (await pglite.query<Row>(text, values)).rows;
    if (text === "begin") {
      transactions.set(transaction, await begin());
      return [];
    }
    const open = transactions.get(transaction);
    if (text === "commit" || text === "rollback") await open?.end(text);
    else return (await open?.tx.query<Row>(text, values))?.rows ?? [];
    return [];
  };

  createInterface(socket).on("line", async (line) => {
    const statement = JSON.parse(line) as Statement;
    const reply = await run(statement).then(
      (rows): Omit<Reply, "call"> => ({ rows }),
      (error: unknown) => ({ rows: [], error: (error as Error).message }),
    );
    socket.write(`${JSON.stringify({ call: statement.call, ...reply })}\n`);
  });
  socket.on("error", () => {});
  // PostgreSQL does the same when it loses a connection.
  socket.on("close", () => transactions.forEach(({ end }) => void end("rollback")));
}

type Row = Record<string, unknown>;

interface OpenTransaction {
  readonly tx: Transaction;
  readonly end: (how: "commit" | "rollback") => Promise<void>;
}

/** Begins a transaction. Until its end, PGlite runs no other statement. */
const begin = (): Promise<OpenTransaction> =>
  new Promise((resolve) => {
    const ended = pglite.transaction(async (tx) => {
      const how = await new Promise<string>((decide) => {
        const end: OpenTransaction["end"] = (decision) => {
          decide(decision);
          return ended;
        };
        resolve({ tx, end });
      });
      if (how === "rollback") await tx.rollback();
    });
  });

const server = createServer(serve).listen(0, "127.0.0.1");
await once(server, "listening");
process.send?.((server.address() as AddressInfo).port);

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
