import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { startChild, type Child } from "../../../faults/processes/child.js";
import type { Settings } from "./settings.js";

/** The time after which a process that has not become ready is killed, in milliseconds: the database may have crashed. */
const startMs = 60_000;

/** A place of a process, which is started again whenever it has ended. */
export class Place {
  readonly #script: string;
  readonly #settings: Settings;
  readonly #onExit: (pid: number) => Promise<void>;
  readonly #ended: Promise<void>;
  #process: ChildProcess | undefined;
  #isStopped = false;
  /** The port of a web process, or 0 while none is ready. */
  port = 0;

  constructor(script: string, settings: Settings, onExit: (pid: number) => Promise<void>) {
    this.#script = script;
    this.#settings = settings;
    this.#onExit = onExit;
    this.#ended = this.#keep();
    // `stop` reports it.
    this.#ended.catch(() => {});
  }

  get isReady(): boolean {
    return this.#process !== undefined;
  }

  async #keep(): Promise<void> {
    let attemptsLeft = 50;
    while (!this.#isStopped) {
      let started: Child;
      try {
        started = await startChild(this.#script, this.#settings, startMs);
      } catch (error) {
        // The database may have crashed while the process started.
        attemptsLeft -= 1;
        if (attemptsLeft === 0) throw error;
        continue;
      }
      attemptsLeft = 50;
      const { process, port } = started;
      this.#process = process;
      this.port = port;
      if (this.#isStopped) this.kill();
      if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
      this.#process = undefined;
      this.port = 0;
      await this.#onExit(process.pid ?? 0);
    }
  }

  kill(): void {
    this.#process?.kill("SIGKILL");
  }

  /** Kills the process, and starts no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.kill();
    await this.#ended;
  }
}
