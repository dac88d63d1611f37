/**
 * Counts the steps of a run, so that faults come after a number of steps. If they came after a time, a slow machine
 * would have more faults per step, and could stop making any.
 */
export class Progress {
  #count = 0;
  readonly #waiting = new Set<{ readonly count: number; readonly resolve: () => void }>();

  /** Counts a step. */
  step(): void {
    this.#count += 1;
    for (const one of this.#waiting) if (one.count <= this.#count) one.resolve();
  }

  /** Does work after every number of further steps, until the signal is aborted. */
  async every(steps: number, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
    for (;;) {
      await this.after(steps, signal);
      if (signal.aborted) return;
      await work();
    }
  }

  /**
   * Resolves after this number of further steps, or when the signal is aborted.
   *
   * @param mostMs the time after which it resolves in any case, in milliseconds. Default: none
   */
  async after(steps: number, signal: AbortSignal, mostMs?: number): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((done) => {
      const resolve = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", resolve);
        this.#waiting.delete(one);
        done();
      };
      const one = { count: this.#count + steps, resolve };
      this.#waiting.add(one);
      signal.addEventListener("abort", resolve);
      const timer = mostMs === undefined ? undefined : setTimeout(resolve, mostMs);
    });
  }
}
