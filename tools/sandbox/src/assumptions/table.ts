import { hashedKey, maskedKey } from "../lib/mask.js";
import { parseDuration, parseSize } from "../lib/units.js";

/*
 * The table of assumptions: everything that the interface document leaves open and the sandbox has to decide. Each row
 * contains the default and the words that select alternatives. `docs/` and `/_sandbox/assumptions` show this table.
 */

/** The facts about an event from which a delivery's body is built. */
export interface EventFacts {
  readonly event_id: string;
  readonly type: string;
  /** The time of the event, as ISO 8601 in UTC. */
  readonly created_at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An occurrence in the service that may raise an event. */
export type Occasion =
  | "send.sent"
  | "send.delivered"
  | "send.bounced"
  | "send.failed"
  | "send.delayed"
  | "domain.verified"
  | "domain.failed";

/**
 * The event type that each occasion raises. An occasion raises no event if it has no type here, or if its type is
 * neither in the interface document nor added by A-03.
 */
export type EmitMap = Readonly<Partial<Record<Occasion, string>>>;

export interface SuccessRule {
  readonly only200: boolean;
  /** Response statuses after which a delivery fails without further retries. */
  readonly stopCodes: readonly number[];
  readonly honorRetryAfter: boolean;
  readonly timeoutMs: number;
}

export interface RateLimitRule {
  readonly reset: "epoch" | "delta";
  readonly retryAfter: "seconds" | "http-date";
  readonly limit: number;
  readonly windowMs: number;
}

export type RotationRule =
  { readonly mode: "immediate" | "pinned" } | { readonly mode: "deferred"; readonly forMs: number };

export type AccountRule =
  | { readonly mode: "shared" | "per-key" }
  | {
      readonly mode: "keys";
      /** Hashes of the accepted API keys. */
      readonly keys: readonly string[];
      /** The word that selected this rule, with its keys masked. */
      readonly shown: string;
    };

/** The courses that a send can take after it has been accepted. */
export const courses = ["delivered", "bounced", "failed", "delayed"] as const;

export type Course = (typeof courses)[number];

/** The values of the assumptions, by setting. */
export interface Settings {
  readonly "send.statuses": Course;
  readonly "send.resource": "full" | "minimal";
  readonly eventTypes: readonly string[];
  readonly "event.emits": EmitMap;
  readonly "domain.states": "by-name" | "verified" | "failed";
  readonly "domain.unverifiedFrom": "warn" | "reject" | "allow";
  readonly "event.body": (event: EventFacts) => unknown;
  readonly "delivery.states": "four";
  readonly "delivery.retry": readonly number[];
  readonly "delivery.success": SuccessRule;
  readonly "errors.shape": "nested" | "flat" | "problem";
  readonly "errors.unknownId": "404";
  readonly "errors.messageClass": 400 | 422;
  readonly idempotency: 409 | 422;
  readonly pagination: "cursor" | "array";
  readonly rateLimit: RateLimitRule | "off";
  readonly "redeliver.allow": "failed" | "any";
  readonly "redeliver.identity": "same" | "fresh";
  readonly rotation: RotationRule;
  readonly "secret.key": "text" | "base64";
  readonly "endpoint.urls": "loopback" | "private" | "strict";
  readonly delete: 200 | 204;
  readonly auth: AccountRule;
  readonly limits: number;
  readonly "event.bytes": "spaced" | "compact";
  readonly "subscription.id": "per-type" | "per-endpoint";
  readonly "event.identity": "per-delivery" | "shared";
  readonly statuses: "usual";
}

export type Setting = keyof Settings;

export interface Assumption<Name extends Setting = Setting, Id extends string = string> {
  readonly id: Id;
  readonly setting: Name;
  /** A description of the default behavior. */
  readonly text: string;
  /** The word that selects the default. */
  readonly default: string;
  /** The words that select alternatives. `<…>` is a placeholder for a value. */
  readonly alternatives: readonly string[];
  /** The affected parts of the service: operations such as `POST /v1/emails`, `every operation`, or `deliveries`. */
  readonly usedBy: readonly string[];
  /**
   * Returns the value that `word` selects, or undefined if it selects none. Accepts three kinds of values that are not
   * words: for `event.emits` an emit map, and for `event.body` a function, both from code in the same process; and for
   * `auth` the rule itself, from a data file.
   */
  readonly parse: (word: unknown) => Settings[Name] | undefined;
}

/** Returns a parser that maps each word to its value. */
const words =
  <Value>(values: Readonly<Record<string, Value>>) =>
  (word: unknown): Value | undefined =>
    typeof word === "string" && Object.hasOwn(values, word) ? values[word] : undefined;

/** Returns a parser for words that are their own values. */
const oneOf =
  <const Word extends string>(...list: readonly Word[]) =>
  (word: unknown): Word | undefined =>
    list.find((candidate) => candidate === word);

const emits = {
  "send.sent": "email.sent",
  "send.delivered": "email.delivered",
  "send.bounced": "email.bounced",
  "send.failed": "email.failed",
  "send.delayed": "email.delayed",
  "domain.verified": "domain.updated",
  "domain.failed": "domain.updated",
} as const satisfies EmitMap;

const fast = [1_000, 5_000, 15_000, 60_000];
const minute = 60_000;
const hour = 60 * minute;
const realistic = [5_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];

const bodies = words<(event: EventFacts) => unknown>({
  envelope: ({ event_id, type, created_at, data }) => ({ event_id, type, created_at, data }),
  short: ({ event_id, type, created_at, data }) => ({
    id: event_id,
    type,
    timestamp: created_at,
    data,
  }),
  bare: ({ data }) => data,
});

/** Returns the part of `word` after `prefix`, or undefined if it does not start with `prefix`. */
const after = (word: unknown, prefix: string): string | undefined =>
  typeof word === "string" && word.startsWith(prefix) ? word.slice(prefix.length) : undefined;

const listOf = (text: string): readonly string[] | undefined => {
  const items = text.split(",").map((item) => item.trim());
  return items.every((item) => /^[\w.-]+$/.test(item)) ? items : undefined;
};

function parseRetry(word: unknown): readonly number[] | undefined {
  const named = words({ fast, realistic, none: [] })(word);
  if (named || typeof word !== "string") return named;
  const delays = word.split(",").map(parseDuration);
  return delays.length <= 100 && delays.every((delay) => delay !== undefined) ? delays : undefined;
}

function parseSuccess(word: unknown): SuccessRule | undefined {
  if (typeof word !== "string") return undefined;
  let rule: SuccessRule = {
    only200: false,
    stopCodes: [],
    honorRetryAfter: false,
    timeoutMs: 15_000,
  };
  for (const part of word.split(",")) {
    const timeoutMs = parseDuration(after(part, "timeout:") ?? "");
    const stop = after(part, "stop:")?.split("+").map(Number);
    if (part === "only200") rule = { ...rule, only200: true };
    else if (part === "honorRetryAfter") rule = { ...rule, honorRetryAfter: true };
    else if (timeoutMs) rule = { ...rule, timeoutMs };
    else if (stop?.every((code) => Number.isInteger(code) && code >= 300 && code <= 599)) {
      rule = { ...rule, stopCodes: stop };
    } else if (part !== "2xx") return undefined;
  }
  return rule;
}

function parseRateLimit(word: unknown): RateLimitRule | "off" | undefined {
  if (word === "off") return word;
  const parts =
    typeof word === "string" ? /^(epoch|delta|http-date)(?::(\d{1,6})\/(\w+))?$/.exec(word) : null;
  if (!parts) return undefined;
  const [, form, limit = "100", window = "60s"] = parts;
  const windowMs = parseDuration(window);
  if (!windowMs || Number(limit) === 0) return undefined;
  return {
    reset: form === "delta" ? "delta" : "epoch",
    retryAfter: form === "http-date" ? "http-date" : "seconds",
    limit: Number(limit),
    windowMs,
  };
}

function parseRotation(word: unknown): RotationRule | undefined {
  if (word === "immediate" || word === "pinned") return { mode: word };
  const forMs = word === "deferred" ? minute : parseDuration(after(word, "deferred:") ?? "");
  return forMs ? { mode: "deferred", forMs } : undefined;
}

function parseAccounts(word: unknown): AccountRule | undefined {
  if (word === "any") return { mode: "shared" };
  if (word === "per-key") return { mode: "per-key" };
  if (isSavedRule(word)) return word;
  const keys = listOf(after(word, "keys:") ?? "");
  return (
    keys && {
      mode: "keys",
      keys: keys.map(hashedKey),
      shown: `keys:${keys.map(maskedKey).join(",")}`,
    }
  );
}

/** Whether `value` is a rule of the mode `keys`. A data file stores the rule itself, because its word has API keys. */
function isSavedRule(value: unknown): value is AccountRule {
  const { mode, keys, shown } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    mode === "keys" &&
    Array.isArray(keys) &&
    keys.every((hash) => typeof hash === "string") &&
    typeof shown === "string"
  );
}

export const isOccasion = (text: string): text is Occasion => Object.hasOwn(emits, text);

const isEmitMap = (value: unknown): value is EmitMap =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).every(
    ([occasion, type]) => isOccasion(occasion) && typeof type === "string",
  );

const everyOperation = ["every operation"];
const deliveries = ["deliveries"];

/** Creates one row of the table, typed by its setting. */
const assume = <const Id extends string, Name extends Setting>(
  id: Id,
  setting: Name,
  row: Omit<Assumption<Name>, "id" | "setting">,
): Assumption<Name, Id> => ({ id, setting, ...row });

export const assumptions = {
  "send.statuses": assume("A-01", "send.statuses", {
    text: "A send is accepted, then sent, then delivered. A send to bounced@ or failed@ at a .test domain ends with that status instead, and one to delayed@ is delayed for 60 s before it is delivered.",
    default: "delivered",
    alternatives: ["bounced", "failed", "delayed"],
    usedBy: ["POST /v1/emails", "GET /v1/sends/{send_id}"],
    parse: oneOf(...courses),
  }),
  "send.resource": assume("A-02", "send.resource", {
    text: "The status response for a send contains the fields of the original response, plus updated_at and history.",
    default: "full",
    alternatives: ["minimal"],
    usedBy: ["GET /v1/sends/{send_id}"],
    parse: oneOf("full", "minimal"),
  }),
  eventTypes: assume("A-03", "eventTypes", {
    text: "The only event types are the three in the interface document.",
    default: "named",
    alternatives: ["extra:<type>,<type>"],
    usedBy: ["GET /v1/webhook-event-types", "POST /v1/webhook-endpoints"],
    parse: (word) => (word === "named" ? [] : listOf(after(word, "extra:") ?? "")),
  }),
  "event.emits": assume("A-04", "event.emits", {
    text: "A send raises email.sent when it is sent and email.delivered when it is delivered. Verifying a domain raises domain.updated.",
    default: "named",
    alternatives: ["none"],
    usedBy: ["POST /v1/emails", "POST /v1/domains/{domain_id}:verify"],
    parse: (word) => (isEmitMap(word) ? word : words<EmitMap>({ named: emits, none: {} })(word)),
  }),
  "domain.states": assume("A-05", "domain.states", {
    text: "A new domain is pending. Verification changes its status to verified, or to failed if the name is fail.test or ends in .fail.test. Adding a name again returns the existing domain. Every verification raises an event.",
    default: "by-name",
    alternatives: ["verified", "failed"],
    usedBy: ["POST /v1/domains", "POST /v1/domains/{domain_id}:verify"],
    parse: oneOf("by-name", "verified", "failed"),
  }),
  "domain.unverifiedFrom": assume("A-06", "domain.unverifiedFrom", {
    text: "A send from an unverified domain is accepted with a warning.",
    default: "warn",
    alternatives: ["reject", "allow"],
    usedBy: ["POST /v1/emails"],
    parse: oneOf("warn", "reject", "allow"),
  }),
  "event.body": assume("A-07", "event.body", {
    text: "The body of a delivery has the form {event_id, type, created_at, data}.",
    default: "envelope",
    alternatives: ["short", "bare"],
    usedBy: deliveries,
    parse: (word) =>
      typeof word === "function" ? (word as (event: EventFacts) => unknown) : bodies(word),
  }),
  "delivery.states": assume("A-08", "delivery.states", {
    text: "The status of a delivery is pending, attempting, succeeded or failed. A delivery has the field next_attempt_at.",
    default: "four",
    alternatives: [],
    usedBy: ["GET /v1/webhook-events"],
    parse: oneOf("four"),
  }),
  "delivery.retry": assume("A-09", "delivery.retry", {
    text: "A failed delivery is retried up to four times, after delays of 1 s, 5 s, 15 s and 60 s, without jitter.",
    default: "fast",
    alternatives: ["realistic", "none", "<delay>,<delay>"],
    usedBy: deliveries,
    parse: parseRetry,
  }),
  "delivery.success": assume("A-10", "delivery.success", {
    text: "An attempt succeeds if the receiver responds with a 2xx status within 15 s. Redirects are not followed.",
    default: "2xx",
    alternatives: ["only200", "stop:<status>+<status>", "honorRetryAfter", "timeout:<duration>"],
    usedBy: deliveries,
    parse: parseSuccess,
  }),
  "errors.shape": assume("A-11", "errors.shape", {
    text: "The body of an error response has the form {error: {code, message, param?, request_id}}.",
    default: "nested",
    alternatives: ["flat", "problem"],
    usedBy: everyOperation,
    parse: oneOf("nested", "flat", "problem"),
  }),
  "errors.unknownId": assume("A-12", "errors.unknownId", {
    text: "A request with an unknown id returns 404 not_found.",
    default: "404",
    alternatives: [],
    usedBy: everyOperation,
    parse: oneOf("404"),
  }),
  "errors.messageClass": assume("A-13", "errors.messageClass", {
    text: "A message_class other than transactional is refused with 400 invalid_request.",
    default: "400",
    alternatives: ["422"],
    usedBy: ["POST /v1/emails"],
    parse: words({ "400": 400, "422": 422 }),
  }),
  idempotency: assume("A-14", "idempotency", {
    text: "If an email request is repeated with the same idempotency key and body within 24 hours, it returns the same send. With a different body, it returns 409 idempotency_conflict. While the first request is still running, it returns 409 idempotency_in_progress. Each API key has its own idempotency keys.",
    default: "409",
    alternatives: ["422"],
    usedBy: ["POST /v1/emails"],
    parse: words({ "409": 409, "422": 422 }),
  }),
  pagination: assume("A-15", "pagination", {
    text: "A list has the form {data, has_more, next_cursor}. Deliveries are listed newest first, and their list accepts two parameters: limit (1 to 100, default 20) and after (the next_cursor of the previous page).",
    default: "cursor",
    alternatives: ["array"],
    usedBy: ["GET /v1/webhook-events", "GET /v1/webhook-event-types"],
    parse: oneOf("cursor", "array"),
  }),
  rateLimit: assume("A-16", "rateLimit", {
    text: "There is no rate limit. If you set one, it applies to each API key separately, and every response except a 401 has the headers X-RateLimit-Limit, -Remaining and -Reset.",
    default: "off",
    alternatives: [
      "epoch:<limit>/<duration>",
      "delta:<limit>/<duration>",
      "http-date:<limit>/<duration>",
    ],
    usedBy: everyOperation,
    parse: parseRateLimit,
  }),
  "redeliver.allow": assume("A-17", "redeliver.allow", {
    text: "A delivery can be redelivered only if its last attempt failed; otherwise, the response is 409.",
    default: "failed",
    alternatives: ["any"],
    usedBy: ["POST /v1/webhook-events/{event_id}:redeliver"],
    parse: oneOf("failed", "any"),
  }),
  "redeliver.identity": assume("A-18", "redeliver.identity", {
    text: "A redelivery makes one attempt. It has the same event id, delivery id and bytes as before, and the next attempt number.",
    default: "same",
    alternatives: ["fresh"],
    usedBy: ["POST /v1/webhook-events/{event_id}:redeliver"],
    parse: oneOf("same", "fresh"),
  }),
  rotation: assume("A-19", "rotation", {
    text: "After a rotation, every attempt is signed with the new secret.",
    default: "immediate",
    alternatives: ["deferred:<duration>", "pinned"],
    usedBy: ["POST /v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret", "deliveries"],
    parse: parseRotation,
  }),
  "secret.key": assume("A-20", "secret.key", {
    text: "The signing key is the whole secret, including whsec_, encoded as UTF-8.",
    default: "text",
    alternatives: ["base64"],
    usedBy: deliveries,
    parse: oneOf("text", "base64"),
  }),
  "endpoint.urls": assume("A-21", "endpoint.urls", {
    text: "Only loopback URLs can be registered as endpoints, so that the sandbox stays offline.",
    default: "loopback",
    alternatives: ["private", "strict"],
    usedBy: ["POST /v1/webhook-endpoints", "deliveries"],
    parse: oneOf("loopback", "private", "strict"),
  }),
  delete: assume("A-22", "delete", {
    text: "Archiving an endpoint cancels its pending deliveries and returns the endpoint, even if it was already archived.",
    default: "200",
    alternatives: ["204"],
    usedBy: ["DELETE /v1/webhook-endpoints/{webhook_endpoint_id}"],
    parse: words({ "200": 200, "204": 204 }),
  }),
  auth: assume("A-23", "auth", {
    text: "Any API key is accepted, and all keys share one account.",
    default: "any",
    alternatives: ["per-key", "keys:<key>,<key>"],
    usedBy: everyOperation,
    parse: parseAccounts,
  }),
  limits: assume("A-24", "limits", {
    text: "A request body may be up to 1 MiB.",
    default: "1MiB",
    alternatives: ["<size>"],
    usedBy: everyOperation,
    parse: (word) => (typeof word === "string" ? parseSize(word) : undefined),
  }),
  "event.bytes": assume("A-25", "event.bytes", {
    text: "Delivery bodies are JSON with a space after each comma and colon, so a receiver that re-serializes them with JSON.stringify computes a different signature.",
    default: "spaced",
    alternatives: ["compact"],
    usedBy: deliveries,
    parse: oneOf("spaced", "compact"),
  }),
  "subscription.id": assume("A-26", "subscription.id", {
    text: "An endpoint has one subscription for each of its event types.",
    default: "per-type",
    alternatives: ["per-endpoint"],
    usedBy: deliveries,
    parse: oneOf("per-type", "per-endpoint"),
  }),
  "event.identity": assume("A-27", "event.identity", {
    text: "If an event is delivered to several endpoints, each delivery has its own event_id, but they all share one source_event_id.",
    default: "per-delivery",
    alternatives: ["shared"],
    usedBy: ["POST /v1/webhook-events/{event_id}:redeliver", "deliveries"],
    parse: oneOf("per-delivery", "shared"),
  }),
  statuses: assume("A-28", "statuses", {
    text: "If the interface does not specify a status, a successful request returns 200, or 201 if it creates something, or 202 if it requests a redelivery. An unknown route returns 404, an unsupported method 405, an unsupported content type 415, and a rotation or redelivery for an archived endpoint 409. Rotating a secret returns the same fields as creating the endpoint.",
    default: "usual",
    alternatives: [],
    usedBy: everyOperation,
    parse: oneOf("usual"),
  }),
} as const satisfies { readonly [Name in Setting]: Assumption<Name> };

/** The id of an assumption, from `"A-01"` to `"A-28"`. */
export type AssumptionId = (typeof assumptions)[Setting]["id"];
