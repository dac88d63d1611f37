const ignore = () => {};

/** A promise that records whether it is awaited. */
export class NotedPromise<Result> extends Promise<Result> {
  /** Makes derived promises ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  isAwaited = false;

  /** The reason for which the promise will reject. */
  failure: { readonly error: unknown } | undefined;

  /**
   * Records the reason for which the promise will reject. The rejection then does not end the process, even if
   * it is never awaited.
   */
  failWith(error: unknown): void {
    this.failure = { error };
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
    this.isAwaited = true;
    return super.then(onResult, onError);
  }
}
