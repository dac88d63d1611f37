import type { ErrorCode } from "./errors.js";

/** Which attempt of which request. */
export interface AttemptNote {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** 1 for the first one. */
  readonly attempt: number;
  readonly idempotencyKey: string | undefined;
}

/** An attempt that is about to be made. */
export interface RequestNote extends AttemptNote {
  /** Headers to send, to which more may be added. The API key and the idempotency key are not among them. */
  readonly headers: Headers;
}

/** The result of an attempt. */
export interface ResponseNote extends AttemptNote {
  /** Real milliseconds. */
  readonly ms: number;
  /** Undefined if no response came, or the rest of a success did not arrive. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** The code of the error; undefined for a success. */
  readonly code: ErrorCode | undefined;
  /** The pause before the next attempt; undefined if there is none. */
  readonly retryInMs: number | undefined;
}
