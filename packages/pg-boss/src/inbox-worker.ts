/** A worker of an inbox. */
export interface InboxWorker {
  /**
   * Stops fetching jobs, and resolves when the running jobs have ended. Jobs still running after `deadlineMs`
   * milliseconds, 0 … 2,147,483,647, return to the queue, which costs each of them one attempt. After that, drain the
   * receiver and stop `boss`. Errors: `invalid_option`, `unknown_option`.
   */
  stop(options: { readonly deadlineMs: number }): Promise<void>;
}

/** The options of `work`. */
export interface WorkOptions {
  /** The maximum number of jobs that this process runs at a time, 1 … 1,000. Default 16. Errors: `invalid_option`. */
  readonly concurrency?: number | undefined;
}
