import type { Recorded } from "@svc-webhooks/crash-test";
import {
  claimNote,
  errorOf,
  factsOfStatement,
  sqlOf,
  type Message,
  type Reply,
  type StatementFacts,
} from "@svc-webhooks/crash-test/postgres";
import type { Crossings, Executed } from "../virtual/crossings.js";
import { inside } from "../virtual/inside.js";
import type { SimulatedProcess } from "../virtual/process.js";
import { connectionReset } from "../virtual/reset.js";
import type { VirtualTime } from "../virtual/time.js";
import { inWorld } from "../surface/fetch.js";
import { Connection } from "./connection.js";
import { newSession } from "./engine.js";
import {
  idleTimeoutIn,
  inSession,
  parametersOf,
  query,
  refusal,
  replyOf,
  withoutIdleTimeout,
} from "./wire.js";

/** A call of `query` by the code under test, kept until its messages are sent. */
export interface Calling {
  readonly text: string;
  readonly attempt: number | undefined;
  readonly source: () => string | undefined;
}

/** The state of one connection on the server's side. */
interface Session {
  readonly id: number;
  readonly owner: SimulatedProcess;
  readonly callings: Calling[];
  readonly connection: Connection;
  /** The number of the connection's open transaction. */
  transaction: number | undefined;
  /** The attempt that began the transaction. */
  attempt: number | undefined;
  /** The crossings of the open transaction. */
  made: Recorded[];
  /** The idle timeout that the transaction has set, in milliseconds. */
  idleMs: number | undefined;
  cancelIdle: () => void;
}

/** The longest time by which a fault delays a transaction that is not blocked, in milliseconds. */
const longestFaultMs = 2_000;

/**
 * The PostgreSQL server of one history. PGlite has only one session, so while a connection has a transaction open, the
 * statements of other connections wait.
 */
export class Server {
  #holder: Session | undefined;
  #sessions = 0;
  readonly #open = new Set<Session>();
  /** Whether PGlite's session needs a reset: it may have settings, prepared statements, temporary tables or locks. */
  #isUsed = false;
  #transactions = 0;
  readonly #committed = new Set<number | undefined>();
  readonly #crossings: Crossings;
  readonly #time: VirtualTime;
  readonly #exchange: (message: Buffer) => Promise<Buffer>;
  readonly #onLease: (leaseMs: number) => void;

  constructor(
    crossings: Crossings,
    time: VirtualTime,
    exchange: (message: Buffer) => Promise<Buffer>,
    onLease: (leaseMs: number) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#crossings = crossings;
    this.#time = time;
    this.#onLease = onLease;
    this.#exchange = async (message) => {
      time.pendingTurns += 1;
      try {
        return await inWorld(() => exchange(message));
      } catch (error) {
        // Ends the history. A refused statement would have a reply, so PGlite itself has failed or is not installed.
        onFailure(error);
        throw error;
      } finally {
        time.pendingTurns -= 1;
        time.activity += 1;
      }
    };
  }

  /** The number of the open transaction, or undefined if none is open. */
  get open(): number | undefined {
    return this.#holder?.transaction;
  }

  /** Returns the number of the open transaction that an attempt has begun in a process. Undefined if there is none. */
  transactionOf(owner: SimulatedProcess, attempt: number | undefined): number | undefined {
    const holder = this.#holder;
    return holder?.owner === owner && holder.attempt === attempt ? holder.transaction : undefined;
  }

  /** Opens a connection for a process. The connection's client adds its calls to `callings`. */
  connect(owner: SimulatedProcess, callings: Calling[]): Connection {
    const id = (this.#sessions += 1);
    const connection = new Connection(owner, id);
    const session: Session = {
      id,
      owner,
      callings,
      connection,
      transaction: undefined,
      attempt: undefined,
      made: [],
      idleMs: undefined,
      cancelIdle: () => {},
    };
    this.#open.add(session);
    const forget = owner.onEnd((how) => {
      const wasOpen = session.transaction !== undefined;
      void this.#rollBack(session);
      if (how === "killed") this.#close(session);
      // The server ends a frozen process's idle transaction, so the process has lost its connection when it continues.
      if (how === "frozen" && wasOpen) connection.end(connectionReset());
    });
    return connection.attach({
      send: (messages) => void this.#send(session, messages),
      end: () => {
        forget();
        void this.#rollBack(session);
        this.#close(session);
      },
    });
  }

  async #send(session: Session, messages: readonly Message[]): Promise<void> {
    const { owner, connection } = session;
    const sql = messages.map(sqlOf).find((text) => text !== undefined) ?? "";
    const facts = factsOfStatement(sql);
    const calling = takeCalling(session.callings, sql);
    const attempt = calling ? calling.attempt : inside.getStore()?.attempt;
    session.cancelIdle();
    const holder = this.#holder;
    const own = holder?.transaction;
    const issuedMs = this.#time.elapsedMs;
    const isOwn =
      holder && holder !== session && holder.owner === owner && holder.attempt === attempt;
    try {
      const reply = await this.#crossings.cross<Buffer>(owner, {
        ...facts,
        attempt,
        source: calling?.source,
        // Returns false if the transaction of the same delivery has committed, or has blocked this statement only
        // briefly: in both cases, the code that holds the transaction was not waiting for the statement.
        waitsForOwn: () =>
          isOwn === true &&
          !this.#committed.has(own) &&
          this.#time.elapsedMs - issuedMs > longestFaultMs,
        transaction: () => {
          if (facts.begins && connection.isOpen) this.#begin(session, attempt);
          return session.transaction;
        },
        isReady: () => this.#holder === undefined || this.#holder === session,
        execute: (recorded) => this.#execute(session, messages, facts, sql, recorded),
        broken: () => connectionReset(),
      });
      connection.receive(reply);
    } catch {
      // Closes the connection as lost. A statement that PostgreSQL refuses has a reply and does not get here.
      connection.end(connectionReset());
    }
  }

  async #execute(
    session: Session,
    messages: readonly Message[],
    facts: StatementFacts,
    sql: string,
    recorded: Recorded | undefined,
  ): Promise<Executed<Buffer>> {
    if (!session.connection.isOpen) {
      await this.#rollBack(session);
      throw connectionReset();
    }
    if (facts.name === "claim") this.#noteLease(messages);
    if (copyIn.test(sql)) {
      // Refuses the statement, because PGlite would wait for data that never arrives.
      const value = refusal(noCopy, session.transaction !== undefined);
      return { reply: { value }, refusal: noCopy };
    }
    const bytes = messages.map(
      (message) => inSession(withoutIdleTimeout(message), `s${session.id}_`).bytes,
    );
    this.#isUsed = true;
    const value = await this.#exchange(Buffer.concat(bytes));
    const reply = replyOf(value);
    if (recorded && session.transaction !== undefined) session.made.push(recorded);
    this.#follow(session, reply, sql, recorded?.attempt);
    const note = facts.name === "claim" ? claimNote(reply.value) : rowsNote(facts, reply.tags);
    return { reply: { value }, refusal: reply.error, note };
  }

  /** Updates the session's transaction after a reply. Starts the idle timeout, if the transaction has set one. */
  #follow(
    session: Session,
    { status, tags }: Reply,
    sql: string,
    attempt: number | undefined,
  ): void {
    if (status === "I") {
      if (session.transaction === undefined) return;
      const isCommitted = tags.includes("COMMIT");
      if (isCommitted) this.#committed.add(session.transaction);
      if (!isCommitted) for (const crossing of session.made) crossing.isUndone = true;
      this.#release(session);
      return;
    }
    if (session.transaction === undefined) this.#begin(session, attempt);
    session.idleMs = idleTimeoutIn(sql) ?? session.idleMs;
    if (!session.idleMs) return;
    session.cancelIdle = this.#time.after(session.idleMs, () => {
      void this.#rollBack(session);
      const message = "terminating connection due to idle-in-transaction timeout";
      session.connection.receive(errorOf("FATAL", "25P03", message).bytes);
      session.connection.end();
    });
  }

  #begin(session: Session, attempt: number | undefined): void {
    if (session.transaction !== undefined) return;
    this.#transactions += 1;
    session.transaction = this.#transactions;
    session.attempt = attempt;
    session.idleMs = undefined;
    this.#holder = session;
  }

  /** Rolls back the open transaction of a session, as the server does when the connection is lost. */
  async #rollBack(session: Session): Promise<void> {
    if (session.transaction === undefined) return;
    for (const crossing of session.made) crossing.isUndone = true;
    this.#release(session);
    await this.#exchange(query("rollback")).catch(() => {});
  }

  /** Closes a session. If it was the last, resets PGlite's own session, which all connections share. */
  #close(session: Session): void {
    this.#open.delete(session);
    if (this.#open.size > 0 || !this.#isUsed) return;
    this.#isUsed = false;
    void this.#exchange(query(newSession)).catch(() => {});
  }

  #release(session: Session): void {
    session.cancelIdle();
    session.transaction = undefined;
    session.made = [];
    if (this.#holder === session) this.#holder = undefined;
    this.#time.activity += 1;
  }

  /** Reports the lease of a claim in milliseconds, which is the third parameter of its statement. */
  #noteLease(messages: readonly Message[]): void {
    const bind = messages.find(({ type }) => type === "B");
    const leaseMs = Number(bind && parametersOf(bind)[2]);
    if (leaseMs > 0) this.#onLease(leaseMs);
  }
}

const copyIn = /\bcopy\b[^;]*\bfrom\s+(?:stdin|program)\b/i;
const noCopy =
  "COPY FROM STDIN and FROM PROGRAM do not work in a crash test: insert the rows, or wrap the call with `world.effect`";

/** Removes and returns the first call with this SQL. Removes older calls too: their messages were never sent. */
function takeCalling(callings: Calling[], sql: string): Calling | undefined {
  const index = callings.findIndex(({ text }) => text === sql);
  return index === -1 ? undefined : callings.splice(0, index + 1).at(-1);
}

/** Returns a note with the number of rows that a statement returned or changed, because the code may depend on it. */
function rowsNote({ kind, begins }: StatementFacts, tags: readonly string[]): string | undefined {
  const [, count] = / (\d+)$/.exec(tags.at(-1) ?? "") ?? [];
  if (kind !== "statement" || begins || count === undefined) return undefined;
  return count === "1" ? "1 row" : `${count} rows`;
}
