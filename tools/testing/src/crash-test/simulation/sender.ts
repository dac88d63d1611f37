import type { Recorder } from "@svc-webhooks/crash-test";
import type { SignedDelivery } from "../../delivery.js";
import type { SimulatedProcess } from "../virtual/process.js";
import type { VirtualTime } from "../virtual/time.js";
import type { Receives } from "./subject.js";

/** How long the sender waits for a response, in milliseconds. */
const timeoutMs = 15_000;
/** How long the sender waits between the end of an attempt and the next one, in milliseconds. */
const pauseMs = 5_000;
/** The maximum number of attempts at an event that start after all faults are over and do not end as `in_flight`. */
const mostCounted = 15;
/** The maximum number of all attempts at an event. */
const mostAttempts = 2_000;

/** A process that can receive deliveries. */
export interface Target {
  readonly process: SimulatedProcess;
  readonly receiver: Receives;
}

export interface SenderHost {
  /** Resolves to a running process other than `not`. Starts a process if there is none. */
  readonly target: (not?: SimulatedProcess) => Promise<Target>;
  /** Calls `run` in the context of the process. */
  readonly deliver: <Result>(
    target: Target,
    attempt: number,
    run: () => Promise<Result>,
  ) => Promise<Result>;
  /** Starts work without waiting for it. If the work fails, the history ends. */
  readonly inBackground: (work: () => Promise<void>) => void;
  readonly deliveryOf: (event: number, n: number) => Promise<SignedDelivery>;
  /** Returns whether all faults are over. Only attempts after that count toward `mostCounted`. */
  readonly areFaultsOver: () => boolean;
  /** Called when an event is acknowledged for the first time. */
  readonly onAcknowledged: (event: number) => Promise<void>;
}

/** Delivers the events in order, and retries each event until it is acknowledged or given up. */
export class Sender {
  readonly acknowledged: boolean[];
  /** The events that are acknowledged or given up. */
  readonly #ended = new Set<number>();
  readonly #counts: { sent: number; counted: number }[];
  readonly #time: VirtualTime;
  readonly #recorder: Recorder;
  readonly #host: SenderHost;

  constructor(events: number, time: VirtualTime, recorder: Recorder, host: SenderHost) {
    this.acknowledged = Array.from({ length: events }, () => false);
    this.#counts = this.acknowledged.map(() => ({ sent: 0, counted: 0 }));
    this.#time = time;
    this.#recorder = recorder;
    this.#host = host;
  }

  get hasEnded(): boolean {
    return this.#ended.size === this.acknowledged.length;
  }

  /** Sends the first attempt of each event in `order`, one after another. */
  async start(order: readonly number[]): Promise<void> {
    for (const event of order) await this.#attempt(event);
  }

  /** Sends a copy of a delivery to a process other than `from`. */
  async duplicate(attempt: number | undefined, from: SimulatedProcess): Promise<void> {
    const original = attempt === undefined ? undefined : this.#recorder.attempts[attempt];
    if (original) await this.#send(original.event, original.n, await this.#host.target(from), true);
  }

  async #attempt(event: number): Promise<void> {
    const counts = this.#counts[event];
    if (!counts || this.acknowledged[event]) return;
    counts.sent += 1;
    const isCounted = this.#host.areFaultsOver();
    const code = await this.#send(event, counts.sent, await this.#host.target(), false);
    // `in_flight` does not count, because it means only that the lease of another run has not ended.
    if (isCounted && code !== "in_flight") counts.counted += 1;
    if (this.acknowledged[event]) return;
    const isLast = counts.counted >= mostCounted || counts.sent >= mostAttempts;
    if (isLast) this.#ended.add(event);
    else {
      this.#time.after(pauseMs, () => this.#host.inBackground(() => this.#attempt(event)));
    }
  }

  async #send(
    event: number,
    n: number,
    target: Target,
    isCopy: boolean,
  ): Promise<string | undefined> {
    const process = target.process.letter;
    const { index, end } = this.#recorder.attempt({ event, n, isCopy, process });
    const delivery = await this.#host.deliveryOf(event, n);
    const outcome = await this.#withTimeout(
      this.#host.deliver(target, index, () => target.receiver.receive(delivery)),
      target.process,
    );
    const { status = 0, code } = outcome ?? {};
    end({ status: outcome?.status, code });
    if (status >= 200 && status < 300 && !this.acknowledged[event]) {
      this.acknowledged[event] = true;
      this.#ended.add(event);
      await this.#host.onAcknowledged(event);
    }
    return code;
  }

  /** Settles like `response`, but a frozen or dead process sends nothing. Resolves to undefined after the timeout. */
  #withTimeout<Result>(
    response: Promise<Result>,
    process: SimulatedProcess,
  ): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      const cancel = this.#time.after(timeoutMs, () => resolve(undefined));
      const respond = (outcome: Result) =>
        process.deliver(() => {
          cancel();
          resolve(outcome);
        });
      response.then(respond, reject);
    });
  }
}
