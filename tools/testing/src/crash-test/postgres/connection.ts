import { EventEmitter } from "node:events";
import { messageSplitter, type Message } from "@svc-webhooks/crash-test/postgres";
import type { SimulatedProcess } from "../virtual/process.js";
import { greeting, statementError } from "./wire.js";

/** The server's side of a connection. */
export interface ConnectionHost {
  /** Called with the messages of one exchange: up to a `Query` or a `Sync`. */
  readonly send: (messages: readonly Message[]) => void;
  /** Called once, when the client closes the connection or the connection is lost. */
  readonly end: () => void;
}

const noCursor =
  "pg-cursor and pg-query-stream do not work in a crash test: read all rows, or wrap the call with `world.effect`";

/** A socket without a network for a `Client` of pg. It has the members of `net.Socket` that pg uses. */
export class Connection extends EventEmitter {
  readonly writable = true;
  #isOpen = true;
  #hasStarted = false;
  readonly #split = messageSplitter(() => this.#hasStarted);
  #exchange: Message[] = [];
  readonly #owner: SimulatedProcess;
  readonly #pid: number;
  #host: ConnectionHost | undefined;

  constructor(owner: SimulatedProcess, pid: number) {
    super();
    this.#owner = owner;
    this.#pid = pid;
  }

  attach(host: ConnectionHost): this {
    this.#host = host;
    return this;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  connect(): this {
    process.nextTick(() => this.#deliver(() => this.emit("connect")));
    return this;
  }

  write(data: Buffer | string, onWritten?: () => void): boolean {
    if (onWritten) process.nextTick(onWritten);
    if (!this.#isOpen) return false;
    for (const message of this.#split(Buffer.from(data as Buffer))) {
      if (message.type === "") {
        this.#hasStarted = true;
        process.nextTick(() => this.receive(greeting(this.#pid)));
        continue;
      }
      if (message.type === "X") return true;
      if (message.type === "H") {
        // Drops the messages so far, because after an error a server ignores all messages before the next `Sync`.
        this.#exchange = [];
        process.nextTick(() => this.receive(statementError(noCursor).bytes));
        continue;
      }
      this.#exchange.push(message);
      if (message.type !== "Q" && message.type !== "S") continue;
      const exchange = this.#exchange;
      this.#exchange = [];
      this.#host?.send(exchange);
    }
    return true;
  }

  /** Passes bytes from the server on to the client. */
  receive(bytes: Buffer): void {
    this.#deliver(() => {
      if (this.#isOpen) this.emit("data", bytes);
    });
  }

  /** Closes the connection. If `error` is set, the client first receives the error, as if the connection were lost. */
  end(error?: Error): this {
    if (!this.#isOpen) return this;
    this.#isOpen = false;
    this.#host?.end();
    process.nextTick(() =>
      this.#deliver(() => {
        if (error) this.emit("error", error);
        this.emit("close");
      }),
    );
    return this;
  }

  destroy(): this {
    return this.end();
  }

  #deliver(run: () => void): void {
    this.#owner.deliver(run);
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  cork(): void {}

  uncork(): void {}

  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }
}
