import type { AnyEvent, EventSchemas, HandlerKey } from "./events.js";
import type { DeliveryContext, Handler } from "./handler.js";
import { createAcceptor } from "./intake/acceptor.js";
import { acceptEach, checked, failUnlessDone, type ListOptions } from "./intake/list.js";
import type { CommonOptions, DedupeBy, InferredOptions, ReceiveOptions } from "./options.js";
import type { Outcome } from "./outcome.js";
import type { Receiver } from "./receiver.js";
import type { MaybePromise } from "./store.js";

/** An event that your own code has verified, or that arrived on a channel that only its sender can write to. */
export interface VerifiedEvent<Source extends string = string> {
  /** The origin of the event: one of `sources`. */
  readonly source: Source;
  /**
   * The sender's own id of the event, the same for each copy: 1 … 256 visible ASCII characters without a comma. The id
   * of a message identifies only one copy if the publisher may send an event twice.
   */
  readonly id: string;
  /** The event's type. Default: what the option `eventType` returns, or the first of `type`, `event_type`, `event`. */
  readonly type?: string | undefined;
  /**
   * The event: the exact bytes, JSON text, or an object, which is converted to JSON. Handlers receive the parsed JSON.
   * Bytes are not copied, so do not change them afterward.
   */
  readonly body: Uint8Array | string | object;
}

/** The options that an intake and a guard have in place of `secret` and `scheme`. */
export interface Sources<Source extends string> {
  /**
   * The names of the channels through which the events of one sender arrive, 1 … 20, such as
   * `["stripe-sdk", "eventbridge"]`: 1 … 64 of `a-z`, `0-9`, `.`, `_`, `-`. Nothing of these events is verified here.
   * Errors: `invalid_option`.
   */
  readonly sources: readonly Source[];
  /**
   * The time after which the outcome is `handler_timeout` although the handler is pending, 1 … `leaseMs` − 5,000
   * milliseconds. The run continues. Default: none, so the outcome is known when the handler has settled.
   */
  readonly handlerTimeoutMs?: number | undefined;
}

/** The options of an intake: those of a receiver, with `sources` in place of `secret` and `scheme`. */
export type IntakeOptions<Source extends string, Base> = Omit<
  Base,
  "secret" | "scheme" | "handlerTimeoutMs"
> &
  Sources<Source>;

/** As `NeedsEventId` for receivers, but an intake has no scheme with an `eventId`. */
type NeedsOwnEventId<Dedupe extends DedupeBy> = [Dedupe] extends ["event"]
  ? { readonly eventId: NonNullable<CommonOptions["eventId"]> }
  : unknown;

/**
 * Accepts events that other code has verified, and runs their handlers as a receiver does. It has neither `receive` nor
 * `fetch`, so no adapter can mount it. Its methods do not depend on `this`.
 */
export interface Intake<Source extends string = string> extends Pick<
  Receiver,
  "resume" | "forget" | "peek" | "drain"
> {
  /** The names of the channels whose events it accepts. */
  readonly sources: readonly Source[];

  /**
   * Runs the handler of one event, as a receiver does after it has verified a delivery. Resolves when the handler has
   * settled; with the option `handlerTimeoutMs`, after that time at the latest. Never throws and never rejects.
   */
  readonly accept: (event: VerifiedEvent<Source>, options?: ReceiveOptions) => Promise<Outcome>;

  /**
   * Accepts each event of a list, and resolves to their outcomes in the same order. An event that fails does not stop
   * the others.
   *
   * @throws ConfigError (as a rejection) `invalid_option` for a list that is too long or not a list, or a number outside
   *   its range; `unknown_option`
   */
  readonly acceptAll: (
    events: MaybePromise<Iterable<VerifiedEvent<Source>>>,
    options?: ListOptions,
  ) => Promise<readonly Outcome[]>;

  /**
   * Returns a handler for deliveries that contain a list: it accepts each event that `split` returns, and fails unless
   * all of them have a 2xx outcome. The next attempt then runs only the rest, because the others are duplicates. The
   * error of an unfinished list has the code `list_incomplete`, or is a `RetryError` with it as its cause.
   *
   * @throws ConfigError `invalid_option`, `unknown_option`
   */
  readonly each: <Event = AnyEvent>(
    split: (
      event: Event,
      context: DeliveryContext,
    ) => MaybePromise<Iterable<VerifiedEvent<Source>>>,
    options?: ListOptions,
  ) => Handler<Event>;
}

/**
 * Builds an intake for events that other code has verified: the sender's own SDK, or a queue that only the sender can
 * write to. Each event is claimed, run, retried and reported like a delivery of a receiver. If a receiver and an intake
 * have the same `name`, `store` and `dedupeBy`, an event with the same id runs only once, whichever of them it reaches.
 *
 * Anyone who reaches a call of `accept` can run your handlers, so verify first.
 *
 * @throws ConfigError with any of the codes of `createReceiver`; the message names the option and the fix
 *
 * @example
 * ```ts
 * import { createIntake } from "svc-webhooks";
 *
 * const intake = createIntake({
 *   sources: ["eventbridge"],
 *   on: { "order.paid": (event, { idempotencyKey }) => console.log(event.type, idempotencyKey) },
 * });
 *
 * export async function consume(message: { readonly detail: { readonly id: string } }) {
 *   const { detail } = message;
 *   const { status } = await intake.accept({ source: "eventbridge", id: detail.id, body: detail });
 *   if (status >= 300) throw new Error("Not done: the queue must deliver this event again.");
 * }
 * ```
 */
export function createIntake<
  const Source extends string,
  Events extends EventSchemas = {},
  Keys extends HandlerKey<Events> = HandlerKey<Events>,
  Dedupe extends DedupeBy = DedupeBy,
>(
  options: IntakeOptions<Source, InferredOptions<Events, Keys>> & {
    readonly dedupeBy?: Dedupe | undefined;
  } & NeedsOwnEventId<Dedupe>,
): Intake<Source> {
  // Handlers are typed where this function is called. An acceptor reads events as JavaScript callers pass them.
  const acceptor = createAcceptor(options);
  const accept = (event: unknown, callOptions?: ReceiveOptions) =>
    acceptor.accept(event, undefined, callOptions);
  const acceptAll: Intake["acceptAll"] = async (events, list) => acceptEach(accept, events, list);
  return {
    ...acceptor,
    sources: options.sources,
    accept,
    acceptAll,
    each(split, list) {
      checked(list);
      return async (event, context) => failUnlessDone(await acceptAll(split(event, context), list));
    },
  };
}
