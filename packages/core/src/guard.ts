import type { Handler } from "./handler.js";
import type { IntakeOptions, VerifiedEvent } from "./intake.js";
import { createAcceptor } from "./intake/acceptor.js";
import type { ReceiveOptions, ReceiverOptions } from "./options.js";
import type { Outcome } from "./outcome.js";
import type { Receiver } from "./receiver.js";

/** An event for a guard: a {@link VerifiedEvent} whose body and type may be absent. */
export interface GuardedEvent<Source extends string = string> extends Omit<
  VerifiedEvent<Source>,
  "body"
> {
  /** The event's type. Default `"event"`. */
  readonly type?: string | undefined;
  /**
   * The event, for `onParked`, schemas and the first parameter of the handler. Default `{}`; required with
   * `dedupeBy: "body"`.
   */
  readonly body?: VerifiedEvent["body"] | undefined;
}

/** The options of a guard: those of an intake, without `on`. */
export type GuardOptions<Source extends string> = Omit<
  IntakeOptions<Source, ReceiverOptions>,
  "on"
>;

/**
 * Runs the handler that a call contains, once for each event. Nothing is stored that could run the event again without
 * the call. Its methods do not depend on `this`.
 */
export interface Guard<Source extends string = string> extends Pick<
  Receiver,
  "forget" | "peek" | "drain"
> {
  /** As `accept` of an intake, with the handler of this call. Never throws and never rejects. */
  readonly run: (
    event: GuardedEvent<Source>,
    handler: Handler,
    options?: ReceiveOptions,
  ) => Promise<Outcome>;
}

/**
 * Builds a guard: it puts the record, the lease and the outcomes of a receiver around code that you call yourself, such
 * as the body of a route that verifies with the sender's SDK. If the handler is a function that a queue can call later,
 * use `createIntake`: an event that is parked, or that the sender does not repeat, can then run again.
 *
 * Anyone who reaches a call of `run` can run its handler, so verify first.
 *
 * @throws ConfigError with any of the codes of `createReceiver`; the message names the option and the fix
 *
 * @example
 * ```ts
 * import { answer, createGuard } from "svc-webhooks";
 *
 * const guard = createGuard({ sources: ["stripe-sdk"] });
 *
 * // `event` is what the SDK's constructEvent() has returned.
 * export async function handleOnce(event: { readonly id: string; readonly type: string }) {
 *   const outcome = await guard.run({ ...event, source: "stripe-sdk" }, () => console.log(event.id));
 *   return answer(outcome);
 * }
 * ```
 */
export function createGuard<const Source extends string>(
  options: GuardOptions<Source>,
): Guard<Source> {
  // A stored event cannot be resumed, because its handler was that of a call.
  const { accept, resume: _resume, ...operations } = createAcceptor(options, { "*": noHandler });
  return { ...operations, run: accept };
}

const noHandler = () => {
  throw new TypeError("`run` needs a handler");
};
