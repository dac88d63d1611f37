import type { ErrorCode } from "./errors.js";

/** The attempt that a hook is called for, and its request. */
export interface AttemptNote {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  /** The number of the attempt: 1 for the first one. */
  readonly attempt: number;
  readonly idempotencyKey: string | undefined;
}

/** An attempt that is about to be made. */
export interface RequestNote extends AttemptNote {
  /** The headers to send, without `Authorization` and `Idempotency-Key`. The hook may add more. */
  readonly headers: Headers;
}

/** The result of an attempt. */
export interface ResponseNote extends AttemptNote {
  /** The duration of the attempt, in milliseconds of real time. */
  readonly ms: number;
  /**
   * The status of the response. Undefined if no complete response arrived. An error response counts even if its body is
   * incomplete, unless the request was aborted.
   */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** The code of the error; undefined for a success. */
  readonly code: ErrorCode | undefined;
  /** The pause before the next attempt, in milliseconds; undefined if there is none. */
  readonly retryInMs: number | undefined;
}
