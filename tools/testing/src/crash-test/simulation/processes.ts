import { inside } from "../virtual/inside.js";
import { messageOf, thrownBy } from "../virtual/message.js";
import { SimulatedProcess } from "../virtual/process.js";
import type { Target } from "./sender.js";
import type { Subject } from "./subject.js";
import type { SimulatedWorld } from "./world.js";

export interface ProcessesHost {
  /** Returns the progress of the deliveries: which events are acknowledged, and the number of attempts. */
  readonly progress: () => readonly unknown[];
  /** Ends the history with an error. */
  readonly fail: (error: unknown) => void;
}

/** The simulated processes of one history. */
export class Processes {
  /**
   * A description of the world when a crash last left no process alive. Undefined if no crash has. Histories with equal
   * descriptions continue in the same way, so the search extends only one of them.
   */
  worldAtDeath: string | undefined;
  readonly #all: SimulatedProcess[] = [];
  readonly #targets: Target[] = [];
  readonly #subject: Subject;
  readonly #world: SimulatedWorld;
  readonly #host: ProcessesHost;

  constructor(subject: Subject, world: SimulatedWorld, host: ProcessesHost) {
    this.#subject = subject;
    this.#world = world;
    this.#host = host;
  }

  /** Resolves to the newest running process other than `not`. Starts a process if there is none. */
  async target(not?: SimulatedProcess): Promise<Target> {
    const alive = this.#targets.findLast(
      ({ process }) => process.state === "running" && process !== not,
    );
    if (alive) return alive;
    const process = this.create(letterOf(this.#targets.length));
    const world = this.#world.worldOf(process);
    const receiver = await inside.run(this.#world.insideOf(process), () =>
      this.#subject.build(world),
    );
    process.start();
    const target = { process, receiver };
    this.#targets.push(target);
    return target;
  }

  /** Creates a process that has not started. */
  create(letter: string): SimulatedProcess {
    const process: SimulatedProcess = new SimulatedProcess(letter, (error) =>
      this.end(process, error),
    );
    this.#all.push(process);
    return process;
  }

  /** Ends a process because of an uncaught error. */
  end(process: SimulatedProcess, error: unknown): void {
    if (this.#world.isOver || process.state === "dead") return;
    // Ends the history too if the process has not started, because an error during the start is a mistake in the test.
    if (!process.hasStarted) {
      this.#host.fail(thrownBy(process.letter === "" ? "prepare" : this.#subject.option, error));
    }
    this.#world.recorder.note(process.letter, `ends: unhandled error: ${messageOf(error)}`);
    this.crash(process);
  }

  crash(process: SimulatedProcess): void {
    const { crossings, recorder } = this.#world;
    process.kill();
    crossings.drop(process);
    const isAnyAlive = this.#all.some(({ state }) => state === "running" || state === "frozen");
    if (isAnyAlive) return;
    const executed = recorder.crossings
      .filter(({ executedMs, isUndone }) => executedMs !== undefined && !isUndone)
      .filter(({ kind, effects }) => kind === "store" || effects.length > 0)
      .map(({ name, key, attempt }) => [name, key, attempt]);
    this.worldAtDeath = JSON.stringify([executed, ...this.#host.progress()]);
  }

  /** Freezes a process for two leases. */
  freeze(process: SimulatedProcess): void {
    process.freeze();
    this.#world.time.after(this.#world.twoLeasesMs(), () => {
      if (process.state !== "frozen") return;
      this.#world.recorder.note(process.letter, "continues");
      process.resume();
    });
  }

  killAll(): void {
    for (const process of this.#all) process.kill();
  }
}

/** Returns the letter of a process: A to Z, then A1 to Z1, and so on. */
const letterOf = (index: number): string =>
  `${String.fromCharCode(65 + (index % 26))}${index < 26 ? "" : Math.floor(index / 26)}`;
