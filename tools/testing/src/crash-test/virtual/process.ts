/**
 * A simulated process: the code that one call of the option `receiver` or `prepare` starts. The code shares the memory
 * of the real process, but once the simulated process is dead, its crossings never settle and its timers never fire.
 */
export class SimulatedProcess {
  #state: "starting" | "running" | "frozen" | "dead" = "starting";
  /** The reactions that run when the frozen process continues. */
  #held: (() => void)[] = [];
  readonly #onEnd = new Set<(how: "killed" | "frozen") => void>();
  readonly #onUncaught: (error: unknown) => void;
  /** The letter that names the process: A for the first to start. Empty for the process of the option `prepare`. */
  readonly letter: string;

  /** @param onUncaught called with each error that the process's code throws and does not catch */
  constructor(letter: string, onUncaught: (error: unknown) => void) {
    this.letter = letter;
    this.#onUncaught = onUncaught;
  }

  get state(): "starting" | "running" | "frozen" | "dead" {
    return this.#state;
  }

  /** Whether the process has started. Calls that it makes before that are not recorded, and have no faults. */
  get hasStarted(): boolean {
    return this.#state !== "starting";
  }

  start(): void {
    if (this.#state === "starting") this.#state = "running";
  }

  /** Runs a reaction of the code immediately or, if the process is frozen, when it continues. Never if it is dead. */
  deliver(run: () => void): void {
    if (this.#state === "frozen") this.#held.push(run);
    if (this.#state === "frozen" || this.#state === "dead") return;
    try {
      run();
    } catch (error) {
      this.#onUncaught(error);
    }
  }

  /** Calls `listener` when the process is killed or frozen. The returned function removes the listener. */
  onEnd(listener: (how: "killed" | "frozen") => void): () => void {
    this.#onEnd.add(listener);
    return () => this.#onEnd.delete(listener);
  }

  kill(): void {
    if (this.#state === "dead") return;
    this.#state = "dead";
    this.#held = [];
    this.#end("killed");
  }

  freeze(): void {
    if (this.#state !== "running") return;
    this.#state = "frozen";
    this.#end("frozen");
  }

  resume(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    const held = this.#held;
    this.#held = [];
    for (const run of held) this.deliver(run);
  }

  #end(how: "killed" | "frozen"): void {
    for (const listener of this.#onEnd) listener(how);
  }
}
