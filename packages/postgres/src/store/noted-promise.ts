const ignore = () => {};

/** The state of a promise, which it shares with those that reject if it rejects. */
interface State {
  isAwaited: boolean;
  failure?: { readonly error: unknown };
}

/**
 * A promise that records whether it is awaited. What `finally`, or `then` without a handler of errors, derives
 * from it rejects with the same error, so it is awaited only if that is.
 */
export class NotedPromise<Result> extends Promise<Result> {
  #state: State = { isAwaited: false };
  #isInFinally = false;

  get isAwaited(): boolean {
    return this.#state.isAwaited;
  }

  /** The reason for which the promise will reject. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#state.failure;
  }

  /**
   * Records the reason for which the promise will reject. The rejection then does not end the process, even if
   * it is never awaited.
   */
  failWith(error: unknown): void {
    this.#state.failure = { error };
    void this.settled();
  }

  /** Resolves when this promise has settled, without awaiting it. */
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
    // An error of the callback itself stays unhandled if nothing handles it.
    void super.then(ignore, (error: unknown) => {
      if (!state.isAwaited && error !== state.failure?.error) throw error;
    });
  }
}
