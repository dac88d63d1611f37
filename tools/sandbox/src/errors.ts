import { WebhookError } from "@svc-webhooks/core";

/** The error codes of the interface document, followed by those that the sandbox assumes. */
export type ErrorCode =
  | "authentication_required"
  | "missing_idempotency_key"
  | "invalid_request"
  | "rate_limited"
  | "not_found"
  | "method_not_allowed"
  | "unsupported_media_type"
  | "body_too_large"
  | "idempotency_conflict"
  | "idempotency_in_progress"
  | "conflict"
  | "forbidden"
  | "too_many_pending"
  | "too_many_streams"
  | "service_unavailable"
  | "internal_error";

export interface ErrorDetails {
  /** The field, parameter or header that is invalid. */
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An error that becomes an error response. Any code that serves a route may throw it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = details.param;
    this.headers = details.headers ?? {};
  }
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Returns the error for a command or a function that was called with wrong arguments. */
export const wrongUsage = (message: string): WebhookError =>
  new WebhookError("wrong_usage", message);

export const invalid = (param: string, message: string): ApiError =>
  new ApiError(400, "invalid_request", message, { param });

export const conflict = (message: string): ApiError => new ApiError(409, "conflict", message);

export const notFound = (param: string, message: string): ApiError =>
  new ApiError(404, "not_found", message, { param });

/** Returns `error` if it is an ApiError. Logs any other error as a failure of the sandbox, and returns a 500 for it. */
export function asRefusal(error: unknown, log: (line: string) => void): ApiError {
  if (error instanceof ApiError) return error;
  log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return new ApiError(500, "internal_error", "The sandbox failed. See its output for the reason.");
}
