import { createServer, type Socket } from "node:net";
import {
  errorOf,
  factsOfStatement,
  messageSplitter,
  Reply,
  type Message,
} from "@svc-webhooks/crash-test/postgres";
import type { Exchanges, Passing } from "../crossings.js";
import { connectUpstream, listening, type Listening } from "./listening.js";
import { startupParameters, Statements } from "./messages.js";

/** The codes of special requests in a client's first message (PostgreSQL's documentation, section 55.7). */
const codes = { cancel: 80_877_102, tls: 80_877_103, gss: 80_877_104 } as const;

export interface PostgresProxyOptions {
  /** The process that uses this proxy: the letter of a server, or `--effects`. */
  readonly process: string;
  readonly host: string;
  readonly port: number;
  /** The only database that the process may connect to. */
  readonly database: string;
  readonly crossings: Exchanges;
  /** Called if a client disconnects after TLS was refused, without having started a session. */
  readonly onTlsRefused: () => void;
  /** Called with a phrase for each access that was refused. */
  readonly onRefused: (access: string) => void;
}

export interface PostgresProxy extends Listening {
  /** Ends the connections that have an open transaction, as a server may do if its client no longer responds. */
  readonly breakTransactions: () => void;
}

/**
 * Starts a proxy to one database. The client's part of an exchange ends with `Query`, `Sync` or `FunctionCall`, and the
 * reply with `ReadyForQuery`.
 */
export async function postgresProxy(options: PostgresProxyOptions): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  const connections = new Set<Connection>();
  const server = createServer((client) => {
    const upstream = connectUpstream(sockets, options);
    const connection = new Connection(client, upstream, options);
    connections.add(connection);
    client.once("close", () => connections.delete(connection));
  });
  const own = await listening(server, sockets);
  return {
    ...own,
    breakTransactions: () => connections.forEach((connection) => connection.breakTransaction()),
  };
}

/** Messages of a client that the server executes together. */
interface Unit {
  readonly bytes: Buffer[];
  readonly texts: string[];
  /**
   * Whether the client sent a `Flush` in the exchange. The client then waits for parts of the reply before it sends
   * more messages, so the proxy forwards messages and replies as they arrive.
   */
  isStreaming: boolean;
  /** Whether the first messages of this unit were sent to the server. */
  isSent: boolean;
}

const newUnit = (): Unit => ({ bytes: [], texts: [], isStreaming: false, isSent: false });

/** The reply to the unit that is being executed. */
interface Replying {
  readonly reply: Reply;
  readonly chunks: Buffer[];
  readonly isStreaming: boolean;
  /** Called with the status of the transaction, or with undefined if the connection broke. */
  readonly end: (status: string | undefined) => void;
}

/** A client's connection to the proxy, and the corresponding connection to the server. */
class Connection {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #options: PostgresProxyOptions;
  readonly #statements = new Statements();
  #isStarted = false;
  #isReady = false;
  #wasTlsRefused = false;
  #unit = newUnit();
  #queue: Promise<void> = Promise.resolve();
  #replying: Replying | undefined;
  /** The open transaction and its exchanges. */
  #open: { readonly number: number; readonly passings: Passing[] } | undefined;

  constructor(client: Socket, upstream: Socket, options: PostgresProxyOptions) {
    this.#client = client;
    this.#upstream = upstream;
    this.#options = options;
    const splitClient = messageSplitter(() => this.#isStarted);
    const splitServer = messageSplitter();
    client.on("data", (chunk: Buffer) => {
      for (const message of splitClient(chunk)) {
        if (message.type === "") this.#first(message);
        else this.#fromClient(message);
      }
    });
    upstream.on("data", (chunk: Buffer) => {
      for (const message of splitServer(chunk)) this.#fromServer(message);
    });
    upstream.once("close", () => {
      this.#closeTransaction(false);
      this.#replying?.end(undefined);
      client.end();
    });
    client.once("close", () => {
      if (this.#wasTlsRefused && !this.#isStarted) options.onTlsRefused();
      // Lets the server finish the statement that it is executing: without a proxy, PostgreSQL would also finish it
      // before noticing that the client is gone.
      if (!this.#replying) upstream.destroy();
    });
  }

  /** Ends the connection if it has an open transaction. */
  breakTransaction(): void {
    if (this.#open) this.#upstream.destroy();
  }

  #break(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }

  #first(message: Message): void {
    const { database, onRefused } = this.#options;
    const code = message.body.readUInt32BE(0);
    if (code === codes.tls || code === codes.gss) {
      this.#wasTlsRefused = code === codes.tls;
      this.#client.write("N");
      return;
    }
    const parameters = startupParameters(message);
    const wanted = parameters["database"] ?? parameters["user"] ?? "";
    if (code !== codes.cancel && wanted !== database) {
      onRefused(`the database ${wanted}, refused`);
      const text = `svc-webhooks crash-test allows only the database ${database}, not ${wanted}.`;
      this.#client.end(errorOf("FATAL", "3D000", text).bytes);
      this.#upstream.destroy();
      return;
    }
    this.#isStarted = true;
    this.#upstream.write(message.bytes);
  }

  #fromClient(message: Message): void {
    const { type, bytes } = message;
    // Messages of the startup are not an exchange, and data of a COPY belongs to the exchange that is being executed.
    if (!this.#isReady || type === "d" || type === "c" || type === "f") {
      this.#upstream.write(bytes);
      return;
    }
    const unit = this.#unit;
    unit.bytes.push(bytes);
    const text = this.#statements.read(message);
    if (text !== undefined) unit.texts.push(text);
    if (type === "H" && unit.texts.length === 0) {
      this.#forward(unit.bytes.splice(0));
      return;
    }
    if (unit.isSent) this.#upstream.write(Buffer.concat(unit.bytes.splice(0)));
    const isEnd = type === "Q" || type === "S" || type === "X" || type === "F";
    if (isEnd) this.#unit = newUnit();
    if (unit.isStreaming || (!isEnd && type !== "H")) return;
    unit.isStreaming = type === "H";
    if (unit.texts.length === 0) this.#forward(unit.bytes);
    else this.#queue = this.#queue.then(() => this.#exchange(unit)).catch(() => this.#break());
  }

  /** Forwards messages that are not an exchange, once the exchanges before them have ended. */
  #forward(bytes: readonly Buffer[]): void {
    this.#queue = this.#queue.then(() => void this.#upstream.write(Buffer.concat(bytes)));
  }

  /** Forwards a unit to the server, and its reply to the client, unless a fault breaks the connection. */
  async #exchange(unit: Unit): Promise<void> {
    const { texts, isStreaming } = unit;
    const [client, upstream] = [this.#client, this.#upstream];
    const { process, crossings } = this.#options;
    if (upstream.destroyed || client.destroyed) return;
    const { begins, name, kind, effects, reads } = factsOfStatement(texts.join(";"));
    if (begins) this.#open ??= { number: crossings.beginTransaction(process), passings: [] };
    const transaction = this.#open?.number;
    const facts = { name, kind, effects, reads, transaction };
    const passing = await crossings.arrive(process, facts);
    this.#open?.passings.push(passing);
    if (!passing.isSent) return this.#break();
    const [reply, chunks]: [Reply, Buffer[]] = [new Reply(), []];
    const status = await new Promise<string | undefined>((end) => {
      this.#replying = { reply, chunks, isStreaming, end };
      if (upstream.destroyed) end(undefined);
      else upstream.write(Buffer.concat(unit.bytes.splice(0)));
      unit.isSent = true;
    });
    this.#replying = undefined;
    if (status === undefined) {
      passing.broken();
      return this.#break();
    }
    if (status === "I") this.#closeTransaction(reply.tags.at(-1) === "COMMIT");
    if (!(await passing.executed({ error: reply.error }))) return this.#break();
    client.write(Buffer.concat(chunks));
    if (client.destroyed) upstream.destroy();
  }

  #closeTransaction(isCommitted: boolean): void {
    if (!isCommitted) for (const passing of this.#open?.passings ?? []) passing.undo();
    if (this.#open) this.#options.crossings.endTransaction(this.#options.process);
    this.#open = undefined;
  }

  #fromServer(message: Message): void {
    const { type, bytes } = message;
    if (type === "Z") this.#isReady = true;
    if (!this.#replying) {
      this.#client.write(bytes);
      return;
    }
    const { reply, chunks, isStreaming, end } = this.#replying;
    reply.read(message);
    chunks.push(bytes);
    // Forwards the start of a COPY immediately, because the client sends the data only after it.
    const isAwaited = type === "G" || type === "W";
    if (isAwaited || (isStreaming && type !== "Z")) {
      this.#client.write(Buffer.concat(chunks.splice(0)));
    }
    if (type === "Z") end(reply.status);
  }
}
