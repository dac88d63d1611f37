import type { Open } from "./resources.js";

/** Marks the errors of every copy of this package, because an app may load both an ESM and a CommonJS copy. */
const brand = Symbol.for("svc-webhooks.client.error");

/**
 * The error class for each known code. If the service sends a known code with another status, the class follows the
 * status.
 */
export interface ErrorsByCode {
  // Codes in the interface document.
  readonly authentication_required: AuthenticationError;
  readonly missing_idempotency_key: InvalidRequestError;
  readonly invalid_request: InvalidRequestError;
  readonly rate_limited: RateLimitError;
  // Assumed codes, the same as in the sandbox.
  readonly not_found: NotFoundError;
  readonly conflict: ConflictError;
  readonly idempotency_conflict: ConflictError;
  readonly idempotency_in_progress: ConflictError;
  // Codes of this client.
  readonly invalid_option: ClientConfigError;
  readonly not_reached: SvcError;
  readonly connection_failed: ConnectionError;
  readonly attempt_timeout: TimeoutError;
  readonly deadline_exceeded: TimeoutError;
  readonly aborted: AbortedError;
  readonly invalid_response: InvalidResponseError;
  readonly response_too_large: InvalidResponseError;
  readonly redirected: InvalidResponseError;
}

/**
 * The code of a failed request. The service may use further codes; `http_<status>` stands for an error response without
 * a code.
 */
export type ErrorCode = Open<keyof ErrorsByCode>;

export interface ErrorFacts {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status?: number | undefined;
  readonly param?: string | undefined;
  readonly requestId?: string | undefined;
  readonly headers?: Headers | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly attempts?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The base class of all errors of this client. Match on `code`, which is stable, or on the class; the message may
 * change. No error contains an API key or a signing secret. Neither does its `cause`, unless the caller supplied it,
 * such as an abort reason.
 */
export class SvcError extends Error {
  override readonly name: string = "SvcError";
  declare readonly code: ErrorCode;
  /** The HTTP status. Undefined if there was no response. */
  declare readonly status: number | undefined;
  /** The field, parameter or header that is invalid. */
  declare readonly param: string | undefined;
  /** The service's `X-Request-Id`, or the `request_id` in the body of its error. */
  declare readonly requestId: string | undefined;
  /** The headers of the last response. */
  declare readonly headers: Headers | undefined;
  /** The pause that the service requested, in milliseconds. */
  declare readonly retryAfterMs: number | undefined;
  /** The number of attempts; 0 if the request was rejected before the first one, and in errors of `waitFor` itself. */
  declare readonly attempts: number;
  /** The idempotency key of the request. If you repeat the request with this key, it takes effect at most once. */
  declare readonly idempotencyKey: string | undefined;

  constructor({ message, cause, headers, ...facts }: ErrorFacts) {
    super(message, cause ? { cause } : {});
    for (const [name, fact] of Object.entries({ attempts: 0, ...facts }))
      if (fact !== undefined) (this as Record<string, unknown>)[name] = fact;
    // Makes both properties non-enumerable, because they would clutter a printed error.
    Object.defineProperties(this, { headers: { value: headers }, [brand]: { value: true } });
  }
}

/** An option is missing, invalid or unknown. Code `invalid_option`; `param` is the option's name. */
export class ClientConfigError extends SvcError {
  override readonly name = "ClientConfigError";
}

/** An error response from the service. Used directly for statuses that have no class of their own. */
export class ApiError extends SvcError {
  override readonly name: string = "ApiError";
}

/** 400, 413, 415 or 422. Without a `status`, this client rejected the request before sending it. */
export class InvalidRequestError extends ApiError {
  override readonly name = "InvalidRequestError";
}

/** 401: the API key is missing or wrong. */
export class AuthenticationError extends ApiError {
  override readonly name = "AuthenticationError";
}

/** 404: the resource does not exist. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}

/**
 * 409: the resource's state does not allow the request, or the idempotency key belongs to another request or to one
 * that is still running.
 */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}

/**
 * 429: a rate limit was exceeded, and no retry was possible before the deadline, or `maxRetries` is 0. `retryAfterMs`
 * is the pause that the service requested, if it requested one.
 */
export class RateLimitError extends ApiError {
  override readonly name = "RateLimitError";
}

/** 5xx: the service failed. */
export class ServerError extends ApiError {
  override readonly name = "ServerError";
}

/** No response arrived, or only part of one. Code `connection_failed`; the request may have been processed. */
export class ConnectionError extends SvcError {
  override readonly name: string = "ConnectionError";
}

/**
 * The complete response did not arrive in time, or `waitFor` did not see its status in time. Code `attempt_timeout`, or
 * `deadline_exceeded` with the last failure as its `cause`; the request may have been processed.
 */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError";
}

/** The caller's signal was aborted. Code `aborted`; `cause` is the signal's reason. */
export class AbortedError extends SvcError {
  // Not the class name, because code that handles `fetch` errors checks for `AbortError`.
  override readonly name = "AbortError";
}

/**
 * A response that the interface does not describe, or that the client cannot read because of a mistake in this process,
 * such as a `fetch` that has read the body; the request may have been processed. Code `invalid_response`,
 * `response_too_large` or `redirected`.
 */
export class InvalidResponseError extends SvcError {
  override readonly name = "InvalidResponseError";
}

/**
 * The errors of this client, discriminated by `code`: a `switch` on `code` narrows to the class. A type assertion is
 * needed, because nothing guarantees at run time that a code has the class listed here. Newer codes of the service
 * reach `default`.
 *
 * @example
 * ```ts
 * import { isSvcError, type KnownError } from "@svc-webhooks/client";
 *
 * export function pauseMs(error: unknown): number | undefined {
 *   if (!isSvcError(error)) throw error;
 *   const known = error as KnownError;
 *   switch (known.code) {
 *     case "rate_limited":
 *       return known.retryAfterMs;
 *     case "deadline_exceeded":
 *       return 0;
 *     default:
 *       throw error;
 *   }
 * }
 * ```
 */
export type KnownError =
  | {
      readonly [Code in keyof ErrorsByCode]: ErrorsByCode[Code] & { readonly code: Code };
    }[keyof ErrorsByCode]
  | (ApiError & { readonly code: `http_${number}` });

/**
 * Returns whether `value` is an error of this client, even one from another copy of this package.
 *
 * @example
 * ```ts
 * import { isSvcError } from "@svc-webhooks/client";
 *
 * export const isLimited = (error: unknown) => isSvcError(error) && error.code === "rate_limited";
 * ```
 */
export const isSvcError = (value: unknown): value is SvcError =>
  (Object(value) as { readonly [brand]?: true })[brand] === true;

/** The kind of a failure other than an error response from the service. */
export type ErrorKind = "connection" | "timeout" | "aborted" | "response";

/** Returns the error class for a failed request. Without a kind, the status decides. */
export const errorClass = (kind: ErrorKind | undefined, status = 0): typeof SvcError =>
  classes[kind ?? status] ?? (status < 500 ? ApiError : ServerError);

const classes: Readonly<Record<ErrorKind | number, typeof SvcError>> = {
  connection: ConnectionError,
  timeout: TimeoutError,
  aborted: AbortedError,
  response: InvalidResponseError,
  400: InvalidRequestError,
  401: AuthenticationError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
};
