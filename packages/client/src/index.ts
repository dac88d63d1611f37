export { createClient } from "./client.js";
export type { Client, CustomCall } from "./client.js";
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
export type { ErrorCode, ErrorFacts } from "./errors.js";
export type { ClientClock } from "./http/clock.js";
export type { AttemptNote, RequestNote, ResponseNote } from "./http/notes.js";
export type { ResponsePromise } from "./http/promise.js";
export type { RawResponse } from "./http/send.js";
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
} from "./recipes/redeliver-failed.js";
export type { WaitOptions } from "./recipes/wait-for-send.js";
export type * from "./resources.js";
export type { MaskedSecret } from "./secret.js";
