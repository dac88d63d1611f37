import type { Open } from "./resources.js";

/** Marks the errors of each copy of this package: an app may load it as ESM and as CommonJS. */
const brand = Symbol.for("svc-webhooks.client.error");

/** Why a request failed. The service may use further codes; `http_<status>` stands for a response without one. */
export type ErrorCode = Open<
  // The interface document.
  | "authentication_required"
  | "missing_idempotency_key"
  | "invalid_request"
  | "rate_limited"
  // Assumed, as in the sandbox.
  | "not_found"
  | "conflict"
  | "idempotency_conflict"
  | "idempotency_in_progress"
  // This client.
  | "invalid_option"
  | "not_reached"
  | "connection_failed"
  | "attempt_timeout"
  | "deadline_exceeded"
  | "aborted"
  | "invalid_response"
  | "redirected"
>;

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
 * The base class of all errors of this client. Match on `code`, which is stable, or on the class; the
 * message may change. No error contains an API key or a signing secret, and neither does its `cause`.
 */
export class SvcError extends Error {
  override readonly name: string = "SvcError";
  declare readonly code: ErrorCode;
  /** The HTTP status. Undefined if there was no response. */
  declare readonly status: number | undefined;
  /** The field, parameter or header that is invalid. */
  declare readonly param: string | undefined;
  /** The service's `X-Request-Id`. */
  declare readonly requestId: string | undefined;
  /** The headers of the last response. */
  declare readonly headers: Headers | undefined;
  /** How long the service asked to wait, in milliseconds. */
  declare readonly retryAfterMs: number | undefined;
  /** Attempts of the request; 0 if it was refused before the first one, and in errors of `waitFor` itself. */
  declare readonly attempts: number;
  /** The key of the request. Repeat the request with it, and it takes effect at most once. */
  declare readonly idempotencyKey: string | undefined;

  constructor({ message, cause, headers, ...facts }: ErrorFacts) {
    super(message, cause ? { cause } : {});
    for (const [name, fact] of Object.entries({ attempts: 0, ...facts }))
      if (fact !== undefined) Object.assign(this, { [name]: fact });
    // Not enumerable: they would fill the terminal.
    Object.defineProperties(this, { headers: { value: headers }, [brand]: { value: true } });
  }
}

/** An option is missing, invalid or unknown. Code `invalid_option`; `param` is its name. */
export class ClientConfigError extends SvcError {
  override readonly name = "ClientConfigError";
}

/** The service responded with an error. Statuses without a class of their own have this one. */
export class ApiError extends SvcError {
  override readonly name: string = "ApiError";
}

/** 400, 413, 415 or 422; without a `status`, this client refused the request before it was made. */
export class InvalidRequestError extends ApiError {
  override readonly name = "InvalidRequestError";
}

/** 401: there is no API key, or it is wrong. */
export class AuthenticationError extends ApiError {
  override readonly name = "AuthenticationError";
}

/** 404 */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}

/** 409: the state does not allow it, or the idempotency key belongs to another request. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}

/** 429, and no retry was left or in time. `retryAfterMs` states when to try again. */
export class RateLimitError extends ApiError {
  override readonly name = "RateLimitError";
}

/** 5xx */
export class ServerError extends ApiError {
  override readonly name = "ServerError";
}

/** No whole response came. Code `connection_failed`; the request may have been processed. */
export class ConnectionError extends SvcError {
  override readonly name: string = "ConnectionError";
}

/**
 * No whole response came in time. Code `attempt_timeout`, or `deadline_exceeded` with the last failure
 * as its `cause`; the request may have been processed.
 */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError";
}

/** The caller's signal was aborted. Code `aborted`; `cause` is the reason of the signal. */
export class AbortedError extends SvcError {
  // The name that code which handles `fetch` looks for.
  override readonly name = "AbortError";
}

/** The response is not what the interface describes. Code `invalid_response` or `redirected`. */
export class InvalidResponseError extends SvcError {
  override readonly name = "InvalidResponseError";
}

/**
 * Whether `value` is an error of this client, also of another copy of this package.
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

/** The class of a response with an error. */
export const errorClass = (status: number): typeof ApiError =>
  status >= 500 ? ServerError : (classes[status] ?? ApiError);

const classes: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
};
