export { createReceiver } from "./receiver.js";
export type { ExecutionContext, ReceiveOptions, Receiver } from "./receiver.js";
export type {
  CommonOptions,
  DedupeBy,
  InferredOptions,
  ReceiverOptions,
  SignedBody,
  StoreTimeouts,
} from "./options.js";
export { isEvent } from "./events.js";
export type { AnyEvent, EventFor, EventSchemas, HandlerKey, UnknownEvent } from "./events.js";
export type { ForgetTarget } from "./forget.js";
export type {
  StandardSchemaIssue,
  StandardSchemaResult,
  StandardSchemaV1,
} from "./standard-schema.js";
export type { DeliveryContext, Handler, HandlerResult, Handlers, SignalReason } from "./handler.js";
export { parseDelivery, serializeDelivery } from "./delivery.js";
export type { BodyReader, Delivery, StoredDelivery } from "./delivery.js";
export { headerNames } from "./headers.js";
export type { DeliveryHeaders, HeaderValue } from "./headers.js";
export type { DeliveryFacts, Outcome, OutcomeCode, Warning } from "./outcome.js";
export { answer } from "./pipeline/answer.js";
export type { Answer } from "./pipeline/answer.js";
export type { DeliveryReport, Stage, StageTimes } from "./report.js";
export { sign, verify } from "./signature.js";
export type { SignatureProblem, VerifyResult } from "./signature.js";
export type { Secret, SecretKey, Secrets, SecretSource } from "./secrets.js";
export { memoryStore } from "./memory-store.js";
export type { MemoryStoreOptions } from "./memory-store.js";
export type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  DeliveryStore,
  ReleaseRequest,
  StoreCall,
} from "./store.js";
export { toDelivery, toResponse } from "./web.js";
export {
  BodyError,
  codeOf,
  PermanentError,
  ReceiverConfigError,
  RetryError,
  WebhookError,
} from "./errors.js";
export type { BodyErrorCode, ReceiverConfigErrorCode } from "./errors.js";
export type { Clock } from "./clock.js";
export type { DeadlineCall, MaybePromise } from "./promise.js";
