const ignore = () => {};

/** The state of a promise, shared by all promises that are derived from it and reject with the same error. */
interface State {
  isAwaited: boolean;
  failure?: { readonly error: unknown };
}

/**
 * A promise that records whether it is awaited, that is, whether its rejection is handled. Calling `finally`, or `then`
 * without an error handler, does not count, because the promise that it returns rejects with the same error. Awaiting
 * that promise does count.
 */
export class NotedPromise<Result> extends Promise<Result> {
  #state: State = { isAwaited: false };
  #isInFinally = false;

  get isAwaited(): boolean {
    return this.#state.isAwaited;
  }

  /** The error that `failWith` has recorded, if any. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#state.failure;
  }

  /**
   * Records the error with which the promise will reject. The rejection then does not crash the process, even if the
   * promise is never awaited.
   */
  failWith(error: unknown): void {
    this.#state.failure = { error };
    void this.settled();
  }

  /** Resolves when this promise has settled. Calling this method does not count as awaiting the promise. */
  async settled(): Promise<void> {
    await super.then(ignore, ignore);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- `await`, `return`, `catch` and `Promise.all` call it
  override then<One = Result, Other = never>(
    onResult?: ((value: Result) => One | PromiseLike<One>) | null,
    onError?: ((reason: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<One | Other> {
    const derived = super.then(onResult, onError);
    if (onError && !this.#isInFinally) this.#state.isAwaited = true;
    else if (derived instanceof NotedPromise) derived.#shareStateOf(this);
    return derived;
  }

  override finally(onEnd?: (() => void) | null): Promise<Result> {
    this.#isInFinally = true;
    try {
      return super.finally(onEnd);
    } finally {
      this.#isInFinally = false;
    }
  }

  #shareStateOf(source: NotedPromise<unknown>): void {
    const state = (this.#state = source.#state);
    // An error thrown by the callback itself remains an unhandled rejection if nothing handles it.
    void super.then(ignore, (error: unknown) => {
      if (!state.isAwaited && error !== state.failure?.error) throw error;
    });
  }
}
