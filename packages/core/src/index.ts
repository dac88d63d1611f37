export { createReceiver } from "./receiver.js";
export type { ExecutionContext, Receiver } from "./receiver.js";
export { createIntake } from "./intake.js";
export type { Intake, IntakeOptions, Sources, VerifiedEvent } from "./intake.js";
export type { ListOptions } from "./intake/list.js";
export { createGuard } from "./guard.js";
export type { Guard, GuardedEvent, GuardOptions } from "./guard.js";
export type { DrainOptions } from "./pipeline/pending-work.js";
export type {
  CommonOptions,
  DedupeBy,
  InferredOptions,
  ReceiveOptions,
  ReceiverOptions,
  ResumeOptions,
  StoreTimeouts,
} from "./options.js";
export { eventType, eventTypes, fields, isEvent } from "./events.js";
export type {
  AnyEvent,
  EventFor,
  EventSchemas,
  Fields,
  HandlerKey,
  SchemasOf,
  UnknownEvent,
} from "./events.js";
export type {
  StandardSchemaIssue,
  StandardSchemaResult,
  StandardSchemaV1,
} from "./standard-schema.js";
export type { DeliveryContext, Handler, HandlerResult, Handlers, SignalReason } from "./handler.js";
export { parseDelivery, serializeDelivery } from "./delivery.js";
export type {
  BodyReader,
  Delivery,
  DeliveryHeaders,
  ForgetTarget,
  HeaderLookup,
  HeaderValue,
  SignedBody,
  StoredDelivery,
} from "./delivery.js";
export { answer } from "./outcome.js";
export type { Answer, DeliveryFacts, Outcome, OutcomeCode, Warning } from "./outcome.js";
export type { DeliveryReport, Stage, StageTimes } from "./report.js";
export type {
  Greeting,
  HeaderProblem,
  HmacKey,
  Identified,
  ImportHmac,
  Inspection,
  Scheme,
  SchemeFor,
  Unsigned,
  VerificationKey,
  VerifiedRequest,
} from "./scheme.js";
export type { Secret, SecretKey, Secrets, SecretSource } from "./secrets.js";
export { sign, verify } from "./signature.js";
export type { SignatureProblem, VerifyResult } from "./signature.js";
export { memoryStore } from "./memory-store.js";
export type { MemoryStoreOptions } from "./memory-store.js";
export type {
  ClaimRequest,
  ClaimResult,
  CompleteResult,
  DeadlineCall,
  DeliveryStore,
  MaybePromise,
  RecordState,
  ReleaseRequest,
  StoreCall,
} from "./store.js";
export { BodyError, ConfigError, WebhookError } from "./errors.js";
export type { BodyErrorCode, ConfigErrorCode } from "./errors.js";
export { PermanentError, RetryError } from "./handler-errors.js";
export type { Logger, LogFields } from "./logger.js";
export { systemClock, type Clock } from "./clock.js";
