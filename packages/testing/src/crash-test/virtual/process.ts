/**
 * A simulated process: the code of one call of the option `receiver`. It shares this process's memory, but nothing that
 * it awaits settles once it is dead.
 */
export class SimulatedProcess {
  #state: "starting" | "running" | "frozen" | "dead" = "starting";
  /** The reactions that run when the frozen process continues. */
  #held: (() => void)[] = [];
  readonly #onEnd = new Set<(how: "killed" | "frozen") => void>();
  readonly #onUncaught: (error: unknown) => void;
  /** A letter, in the order of their starts. Empty for the code that prepares the world. */
  readonly letter: string;

  /** @param onUncaught called with an error that its code throws and nothing catches */
  constructor(letter: string, onUncaught: (error: unknown) => void) {
    this.letter = letter;
    this.#onUncaught = onUncaught;
  }

  get state(): "starting" | "running" | "frozen" | "dead" {
    return this.#state;
  }

  /** Whether its calls are crossings: they are not while it starts. */
  get hasStarted(): boolean {
    return this.#state !== "starting";
  }

  start(): void {
    if (this.#state === "starting") this.#state = "running";
  }

  /** Runs a reaction of its code: now, when it continues, or never. */
  deliver(run: () => void): void {
    if (this.#state === "frozen") this.#held.push(run);
    if (this.#state === "frozen" || this.#state === "dead") return;
    try {
      run();
    } catch (error) {
      this.#onUncaught(error);
    }
  }

  /** Calls `listener` when the process is killed or frozen. The returned function removes it. */
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
