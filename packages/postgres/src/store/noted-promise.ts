const ignore = () => {};

/** A promise that notes whether anything awaits it. */
export class NotedPromise<Result> extends Promise<Result> {
  /** Promises derived from it are ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  isAwaited = false;

  /** Why it will reject. */
  failure: { readonly error: unknown } | undefined;

  /** Notes why it will reject, which then does not end the process if nothing awaits it. */
  failWith(error: unknown): void {
    this.failure = { error };
    void this.settled();
  }

  /** Resolves when it has settled, without awaiting it. */
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
