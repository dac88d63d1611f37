import { advise, suggest } from "#texts";
import type { Clock } from "../clock.js";
import { codeOf } from "../errors.js";
import type { RetryError } from "../handler-errors.js";
import { describe } from "../lib/text.js";
import type { DeliveryFacts, OutcomeCode, Warning } from "../outcome.js";
import type { Scheme } from "../scheme.js";
import { linePrinter, type Level, type Print, type Write } from "./line.js";

/**
 * The level of each outcome's line. Of the outcomes without a level, `processed` and `enqueued` are logged only with
 * `logProcessed`. For `handler_failed` and `parked`, `handlerError` and `dropped` log the error instead. The rest are
 * not logged, unless there is a description of the problem.
 */
export const levels: Readonly<Record<OutcomeCode, Level | undefined>> = {
  processed: undefined,
  enqueued: undefined,
  ignored: "info",
  duplicate: undefined,
  parked: undefined,
  handshake: "info",
  in_flight: "info",
  handler_timeout: "warn",
  handler_failed: undefined,
  event_invalid: "error",
  event_untyped: "error",
  store_unavailable: "error",
  queue_unavailable: "error",
  body_unavailable: "error",
  misconfigured: "error",
  internal_error: "error",
  signature_missing: "warn",
  signature_malformed: "warn",
  signature_mismatch: "warn",
  signature_stale: "warn",
  delivery_id_missing: "error",
  delivery_id_malformed: "error",
  malformed_body: "error",
  method_not_allowed: undefined,
  body_too_large: "warn",
  encoding_unsupported: "warn",
  body_timeout: "warn",
  draining: "info",
  overloaded: "warn",
  aborted: undefined,
};

// The types of ignored events are kept in memory, so their number and their length are limited.
const mostTypes = 100;
const longestType = 200;

/** The description of a delivery's problem for the log, or a function that returns it. */
export type Hint = string | (() => string) | undefined;

type SomeFacts = Partial<DeliveryFacts>;

/**
 * Prints the lines of one receiver. Keeps in memory the keys of recent lines, the types of ignored events, and the
 * first subscription id of a verified delivery.
 */
export interface Log {
  /** Records that a delivery was verified, and the id of its subscription if it has one. */
  readonly verified: (subscriptionId: string | undefined) => void;
  /** Prints the line of an outcome, if its code has one. `hint` describes the problem of this delivery. */
  readonly outcome: (code: OutcomeCode, hint: Hint, facts: SomeFacts) => void;
  /** Prints the line of a warning. */
  readonly warning: (code: Warning, facts: SomeFacts, error?: unknown) => void;
  /** Prints the error of a handler. */
  readonly handlerError: (error: unknown, facts: SomeFacts) => void;
  /** Prints that an event was parked without an `onParked`. `isKept`: the caller of `resume` still has the event. */
  readonly dropped: (error: unknown, facts: SomeFacts, isKept: boolean) => void;
  /** Prints an error that changes no outcome: of the store call `operation` or, without one, of a hook. */
  readonly internalError: (error: unknown, operation?: string) => void;
}

/** @param hasProcessed whether processed and enqueued deliveries are printed too */
export function createLog(
  clock: Clock,
  write: Write,
  handlerKeys: readonly string[],
  hasProcessed: boolean,
  scheme: Scheme | undefined,
): Log {
  const print: Print = linePrinter(clock, write);
  const ignoredTypes = new Set<string>();
  let hasVerified = false;
  let firstSubscription: string | undefined;
  let greetings = 0;

  function ignored(type: string, facts: SomeFacts): void {
    if (ignoredTypes.has(type)) return;
    const isFull = ignoredTypes.size >= mostTypes || type.length > longestType;
    if (!isFull) ignoredTypes.add(type);
    const message = `no handler for ${JSON.stringify(type)}`;
    const key = isFull ? "ignored" : undefined;
    const advice = isFull ? "" : suggest(type, handlerKeys);
    print("ignored", key, () => ({ level: advice ? "warn" : "info", message, advice, facts }));
  }

  return {
    verified(subscriptionId) {
      hasVerified = true;
      firstSubscription ??= subscriptionId;
    },

    outcome(code, hint, facts) {
      if ((code === "processed" || code === "enqueued") && hasProcessed) {
        print(code, undefined, () => ({ level: "info", facts }));
      }
      const level = levels[code] ?? (hint && "info");
      // Anyone can send the request that the description of a handshake describes.
      if (!level || (code === "handshake" && hint && greetings++)) return;
      const { type = "" } = facts;
      if (code === "ignored") return ignored(type, facts);
      // At most one line per key and minute is printed. Lines whose hints may vary use only their code as the key:
      // anyone can vary the hint of an unverified request, and a server may put a request id into each of its errors.
      // A store call that reached its deadline has a key of its own, so that the store's error can still be logged in
      // the same minute.
      const isVerified = facts.deliveryId !== undefined;
      const isForeign =
        !isVerified ||
        typeof hint === "function" ||
        code === "queue_unavailable" ||
        (code === "store_unavailable" && !hint?.startsWith("store."));
      const key = isForeign ? code : `${code} ${hint?.slice(0, 500)}`;
      const isSetUp = level !== "warn" || isVerified || hasVerified;
      print(code, key, () => ({
        level: isSetUp ? level : "error",
        message: (typeof hint === "function" ? hint() : hint) ?? "",
        advice: `${advise(code, scheme)} ${isSetUp ? "" : advise("never_verified")}`.trim(),
        facts,
      }));
    },

    warning(code, facts, error) {
      print(code, code, () => {
        const { subscriptionId } = facts;
        const isOther =
          code === "other_delivery_id" && subscriptionId && subscriptionId !== firstSubscription;
        const subscriptions = `subscriptions ${firstSubscription} and ${subscriptionId}`;
        const message = isOther ? subscriptions : error === undefined ? "" : describe(error);
        return { level: "warn", message, advice: advise(code, scheme), facts };
      });
    },

    handlerError(error, facts) {
      const { cause, retryAfterMs } = Object(error) as Partial<RetryError>;
      const code = "handler_failed";
      // A RetryError without a number is printed in full: its message states the mistake, and its stack shows where it
      // was made.
      if (codeOf(error) === "retry_error" && !Number.isNaN(retryAfterMs)) {
        const message = `${describe(error)}${cause ? `: ${describe(cause)}` : ""}`;
        print(code, undefined, () => ({ level: "warn", message, facts }));
      } else {
        print(code, undefined, () => ({ level: "error", facts, error }));
      }
    },

    dropped(error, facts, isKept) {
      const message = isKept ? "parked" : "parked and dropped: there is no onParked";
      print("parked", undefined, () => ({ level: "error", message, facts, error }));
    },

    internalError(error, operation) {
      // The warning `complete_failed` has already logged this error.
      if (operation === "complete") return;
      const message = `${operation ? `store.${operation} failed: ` : ""}${describe(error)}`;
      print("internal_error", `internal_error ${operation}`, () => ({ level: "error", message }));
    },
  };
}
