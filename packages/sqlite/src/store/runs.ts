/** A run that this store has claimed, until it is completed or released. */
interface Run {
  /** Whether a transaction has completed the run, so that `complete` needs no statement. */
  isFinished: boolean;
}

/** The runs that a store has claimed, by their key and their fence or token. */
export class Runs {
  readonly #byToken = new Map<string, { readonly run: Run; readonly fence: string }>();
  readonly #byFence = new Map<string, Run>();

  add(key: string, token: string, fence: number): void {
    const run: Run = this.#byFence.get(`${key} ${fence}`) ?? { isFinished: false };
    this.#byFence.set(`${key} ${fence}`, run);
    this.#byToken.set(`${key} ${token}`, { run, fence: `${key} ${fence}` });
  }

  /** Records that the transaction of a run is committed. */
  finish(key: string, fence: number): void {
    const run = this.#byFence.get(`${key} ${fence}`);
    if (run) run.isFinished = true;
  }

  isFinished(key: string, token: string): boolean {
    return this.#byToken.get(`${key} ${token}`)?.run.isFinished === true;
  }

  /** Removes a run that is completed or released. Returns whether a transaction has completed it. */
  end(key: string, token: string): boolean {
    const entry = this.#byToken.get(`${key} ${token}`);
    if (!entry) return false;
    this.#byToken.delete(`${key} ${token}`);
    this.#byFence.delete(entry.fence);
    return entry.run.isFinished;
  }
}
