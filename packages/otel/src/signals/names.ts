/**
 * The names from OpenTelemetry's messaging conventions. The conventions have the status "development", so a later
 * version may rename these (https://opentelemetry.io/docs/specs/semconv/messaging/).
 */
export const messaging = {
  system: "messaging.system",
  operationType: "messaging.operation.type",
  operationName: "messaging.operation.name",
  destination: "messaging.destination.name",
  messageId: "messaging.message.id",
  bodySize: "messaging.message.body.size",
  processDuration: "messaging.process.duration",
  consumedMessages: "messaging.client.consumed.messages",
} as const;

/** The names from OpenTelemetry's stable conventions. */
export const stable = {
  errorType: "error.type",
  statusCode: "http.response.status_code",
} as const;

/** This project's own names. */
export const own = {
  receiver: "svc_webhooks.receiver",
  outcome: "svc_webhooks.outcome",
  phase: "svc_webhooks.phase",
  warning: "svc_webhooks.warning",
  eventType: "svc_webhooks.event.type",
  source: "svc_webhooks.source",
  run: "svc_webhooks.run",
  attempt: "svc_webhooks.delivery.attempt",
  deliveryDuration: "svc_webhooks.delivery.duration",
  outcomes: "svc_webhooks.outcomes",
  handlersActive: "svc_webhooks.handlers.active",
  warnings: "svc_webhooks.warnings",
  oldestAge: "svc_webhooks.inbox.oldest_age",
  ready: "svc_webhooks.inbox.ready",
  dead: "svc_webhooks.inbox.dead",
  heldKeys: "svc_webhooks.inbox.held_keys",
} as const;

/** The histogram boundaries that the conventions recommend for durations, in seconds. */
export const buckets: number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
