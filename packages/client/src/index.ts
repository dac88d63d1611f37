export { createClient } from "./client.js";
export type { Client, CustomCall } from "./client.js";
export type { ClientClock } from "./clock.js";
export {
  AbortedError,
  ApiError,
  AuthenticationError,
  ClientConfigError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  InvalidResponseError,
  isSvcError,
  NotFoundError,
  RateLimitError,
  ServerError,
  SvcError,
  TimeoutError,
} from "./errors.js";
export type { ErrorCode, ErrorFacts, ErrorsByCode, KnownError } from "./errors.js";
export type { AttemptNote, RequestNote, ResponseNote } from "./notes.js";
export type {
  ClientOptions,
  KeyedRequestOptions,
  RedeliverOptions,
  RotateOptions,
  RequestOptions,
} from "./options.js";
export type { List, Page } from "./pages.js";
export type {
  BulkRedelivery,
  BulkRedeliveryOptions,
  BulkRedeliveryProgress,
  EmailResult,
  KeyedEmail,
  SendAllOptions,
  SendAllProgress,
  SentEmail,
  WaitOptions,
} from "./recipes.js";
export type * from "./resources.js";
export type { RawResponse, ResponsePromise } from "./response-promise.js";
export type { MaskedSecret } from "./secret.js";
