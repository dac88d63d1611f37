import type { SecretKey } from "@svc-webhooks/core";
import type { SenderName } from "@svc-webhooks/schemes/senders";
import { fixture } from "../fixture.js";
import { HttpSender, type Connecting, type Reply, type Sending } from "../http-sender.js";
import type { SignedDelivery } from "../delivery.js";
import { PreconditionError } from "../precondition-error.js";
import { MinorFailure } from "./minor-failure.js";
import { Runs } from "./runs.js";
import { graceMs, pause } from "../pause.js";
import { byScheme, byService, type Wanted } from "./deliveries.js";
import type { Change } from "./forgery.js";

/** How long the handler of a receiver that queues events may take to start, in milliseconds. */
const queueMs = 1_000;

/** A delivery of a new event, with the id of that event. */
export interface UniqueDelivery extends SignedDelivery {
  readonly eventId: string;
}

/** The options of a `ReceiverProbe`. */
export interface Probing {
  readonly secret: SecretKey;
  /** The time limit for each response, in milliseconds. */
  readonly timeoutMs: number;
  readonly scheme: SenderName | undefined;
  readonly hasHandler: boolean;
  readonly connecting?: Connecting | undefined;
  /** Called with the id of each event and the runs of its case, before the event is sent. */
  readonly onEvent?: ((eventId: string, runs: Runs) => void) | undefined;
}

/** Sends deliveries to a receiver, and checks its responses and the runs of its handler. */
export class ReceiverProbe extends HttpSender {
  readonly runs: Runs = new Runs();
  readonly hasHandler: boolean;
  /** The name of the sender's scheme. Undefined for the service. */
  readonly scheme: SenderName | undefined;
  readonly secret: SecretKey;
  /** Whether a request that must be rejected was sent, after which a receiver may lock out the sender. */
  hasForged = false;
  /** The first minor failure of the case. It is reported only if there is no other failure. */
  minorFailure: MinorFailure | undefined;
  readonly #onEvent: Probing["onEvent"];

  constructor(url: string, { secret, timeoutMs, scheme, hasHandler, ...rest }: Probing) {
    super(url, timeoutMs, rest.connecting);
    this.#onEvent = rest.onEvent;
    this.secret = secret;
    this.scheme = scheme;
    this.hasHandler = hasHandler;
  }

  /**
   * Creates a delivery of the sender. `eventOf` receives a unique event id, and returns the event or the text of the
   * body. Default: an `email.sent` event with that id.
   */
  async delivery(
    eventOf: (eventId: string) => unknown = (event_id) => fixture("email.sent", { event_id }),
    options: Pick<Wanted, "headers" | "change"> = {},
  ): Promise<UniqueDelivery> {
    const eventId = `evt_${crypto.randomUUID()}`;
    this.#onEvent?.(eventId, this.runs);
    const wanted = { event: eventOf(eventId), eventId, ...options };
    const { scheme, secret } = this;
    const delivery = scheme
      ? await byScheme(scheme, secret, wanted)
      : await byService(secret, wanted);
    return { ...delivery, eventId };
  }

  /** Sends a delivery that must be accepted and handled once. */
  async handles(sending: UniqueDelivery & Sending): Promise<void> {
    expectAccepted(await this.send(sending));
    await this.ranOnce(sending.eventId);
  }

  /** Sends a request that must be rejected. Does not check whether it was handled. */
  async isRefused(sending: Sending, what: string): Promise<void> {
    this.hasForged = true;
    const reply = await this.send(sending);
    const { method = "POST" } = sending;
    // An origin server may respond to methods that it does not implement with 501 (RFC 9110, section 9.1).
    if (method === "POST" || reply.status !== 501) this.expectRefused(reply, what);
  }

  /** Throws if a request was accepted. Any other status except 4xx is a minor failure. */
  expectRefused(reply: Reply, what: string): void {
    const { status } = reply;
    const text = `${what} got a ${status} response instead of a 4xx.`;
    if (isAccepted(reply)) throw new Error(text);
    if (status < 400 || status > 499) this.isMinor(text);
  }

  /** Records a minor failure, unless the case already has one. */
  isMinor(text: string): void {
    this.minorFailure ??= new MinorFailure(text);
  }

  /** Sends a request that must be rejected and not handled. */
  async refuses(sending: Sending, what = "The request"): Promise<void> {
    await this.isRefused(sending, what);
    this.neverRan(what);
  }

  /** Sends a delivery with one change, which must be rejected and not handled. Sends nothing if there is no change. */
  async refusesChanged(change: Change): Promise<void> {
    const delivery = await this.delivery();
    const changed = await change(delivery, this.secret);
    if (changed) await this.refuses({ ...delivery, ...changed });
  }

  /**
   * Sends another genuine delivery, and rejects if the reaction suggests a lockout, because the responses of a receiver
   * that locks out the sender prove nothing about the case.
   */
  async expectUnlocked(): Promise<void> {
    this.runs.behavior = () => {};
    const reaction = await this.lockOf();
    if (reaction === undefined) return;
    throw new PreconditionError(
      `Not checked: the receiver now ${reaction}. Turn off its lockout or rate limit while the contract runs.`,
    );
  }

  /**
   * Sends a genuine delivery. Resolves to a description of the reaction if it suggests a lockout: a 4xx or, after a
   * forgery, no response. Otherwise resolves to undefined. A process that exits may reset two more connections: one
   * that it has accepted, and one in its socket's queue. After that, connections are refused, whereas a lockout resets
   * every connection.
   */
  private async lockOf(resets = 2): Promise<string | undefined> {
    try {
      const { status } = await this.send(await this.delivery());
      return status >= 400 && status <= 499
        ? `refuses genuine deliveries with ${status}`
        : undefined;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (!this.hasForged || code === "ECONNREFUSED") return undefined;
      if (code === "ECONNRESET" && resets > 0) return this.lockOf(resets - 1);
      return "does not respond to genuine deliveries";
    }
  }

  /**
   * Rejects unless the handler ran exactly once for an event. Waits up to a second for the run, because a receiver that
   * queues events may run the handler after the response. Checks nothing if `hasHandler` is false.
   */
  async ranOnce(eventId: string): Promise<void> {
    if (!this.hasHandler) return;
    if (this.runs.of(eventId) === 0) {
      await this.runs.until(() => this.runs.of(eventId) > 0, queueMs);
      await pause(graceMs);
    }
    const runs = this.runs.of(eventId);
    if (runs !== 1) {
      throw new Error(
        runs === 0 && this.runs.count > 0
          ? `The handler ran, but did not receive the parsed body with the event_id ${eventId}.`
          : `The handler ran ${runs} times instead of once.`,
      );
    }
  }

  /** Resolves to whether the handler has run for any event. Waits up to a second for a run. */
  async hasRun(): Promise<boolean> {
    await this.runs.until(() => this.runs.count > 0, queueMs);
    return this.runs.count > 0;
  }

  /** Waits for a run. Without one, the case cannot be tested, so the call rejects with a {@link PreconditionError}. */
  async ran(): Promise<void> {
    if (!(await this.hasRun())) throw new PreconditionError("The handler did not run.");
  }

  neverRan(what: string): void {
    if (this.runs.count > 0) throw new Error(`${what} was handled.`);
  }
}

export const isAccepted = ({ status }: Reply): boolean => status >= 200 && status < 300;

export function expectAccepted(reply: Reply, what = "A genuine delivery"): void {
  if (!isAccepted(reply))
    throw new Error(`${what} got a ${reply.status} response instead of a 2xx.`);
}
