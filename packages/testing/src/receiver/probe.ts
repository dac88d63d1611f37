import { headerNames, type SecretKey } from "@svc-webhooks/core";
import { fixture } from "../fixture.js";
import { HttpSender, type Reply, type Sending } from "../http-sender.js";
import {
  signedDelivery,
  type SignedDelivery,
  type SignedDeliveryOptions,
} from "../signed-delivery.js";
import { PreconditionError } from "../precondition-error.js";
import { Runs } from "./runs.js";

/** A delivery of an event that no other delivery has. */
export interface UniqueDelivery extends SignedDelivery {
  readonly eventId: string;
}

/** Sends deliveries to a receiver, and checks its responses and the runs of its handler. */
export class ReceiverProbe extends HttpSender {
  readonly runs: Runs = new Runs();
  readonly secret: SecretKey;
  readonly hasHandler: boolean;
  /** A request that must be refused was sent, after which a receiver may lock. */
  hasForged = false;

  constructor(url: string, secret: SecretKey, timeoutMs: number, hasHandler: boolean) {
    super(url, timeoutMs);
    this.secret = secret;
    this.hasHandler = hasHandler;
  }

  /**
   * A delivery with all headers of the interface document. `bodyOf` makes its body from an id that no
   * other event has; default: the `email.sent` event with that id.
   */
  async delivery(
    bodyOf: (eventId: string) => unknown = (event_id) => fixture("email.sent", { event_id }),
    { headers, ...options }: SignedDeliveryOptions = {},
  ): Promise<UniqueDelivery> {
    const eventId = `evt_${crypto.randomUUID()}`;
    const all = { [headerNames.eventId]: eventId, [headerNames.subscriptionId]: "sub_1" };
    const signing = { secret: this.secret, ...options, headers: { ...all, ...headers } };
    return { ...(await signedDelivery(bodyOf(eventId), signing)), eventId };
  }

  /** Sends a delivery that must be accepted and handled once. */
  async handles(sending: UniqueDelivery & Sending): Promise<void> {
    expectAccepted(await this.send(sending));
    this.ranOnce(sending.eventId);
  }

  /** Sends a request that must be refused. */
  async isRefused(sending: Sending, what: string): Promise<void> {
    this.hasForged = true;
    expectRefused(await this.send(sending), what);
  }

  /** Sends a request that must be refused and must not be handled. */
  async refuses(sending: Sending, what = "The request"): Promise<void> {
    await this.isRefused(sending, what);
    this.neverRan(what);
  }

  /**
   * Fails if the receiver refuses a plain genuine delivery now, or leaves it without a response after a
   * forgery: what it does shows nothing more.
   */
  async expectUnlocked(): Promise<void> {
    this.runs.behaviour = () => {};
    const reaction = await this.lockOf();
    if (reaction === undefined) return;
    throw new PreconditionError(
      `Not checked: after the wrong signatures of the contract the receiver ${reaction}. Turn off its lock or rate limit while the contract runs.`,
    );
  }

  /**
   * A process that ends may reset two connections more: one that it has accepted, and one that waits in the queue of its
   * socket. After them nothing listens, whereas a lock resets each.
   */
  private async lockOf(resets = 2): Promise<string | undefined> {
    try {
      const { status } = await this.send(await this.delivery());
      return status >= 400 && status <= 499
        ? `refuses genuine deliveries, with ${status}`
        : undefined;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (!this.hasForged || code === "ECONNREFUSED") return undefined;
      if (code === "ECONNRESET" && resets > 0) return this.lockOf(resets - 1);
      return "does not respond to genuine deliveries";
    }
  }

  ranOnce(eventId: string): void {
    const runs = this.runs.of(eventId);
    if (this.hasHandler && runs !== 1) {
      throw new Error(
        runs === 0 && this.runs.count > 0
          ? `The handler did not run with the parsed body, whose event_id is ${eventId}.`
          : `The handler ran ${runs} times instead of once.`,
      );
    }
  }

  /** The handler must have run, whatever the response, so that a case can be tested. */
  ran(): void {
    if (this.runs.count === 0) throw new PreconditionError("The handler did not run.");
  }

  neverRan(what: string): void {
    if (this.runs.count > 0) throw new Error(`${what} was handled.`);
  }
}

export const isAccepted = ({ status }: Reply): boolean => status >= 200 && status < 300;

export function expectAccepted(reply: Reply, what = "A genuine delivery"): void {
  if (!isAccepted(reply)) throw new Error(`${what} got ${reply.status} instead of a 2xx.`);
}

export function expectRefused({ status }: Reply, what: string): void {
  if (status < 400 || status > 499) throw new Error(`${what} got ${status} instead of a 4xx.`);
}
