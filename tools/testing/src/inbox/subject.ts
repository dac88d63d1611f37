import type { AnyEvent, DeliveryStore, MaybePromise, Receiver } from "@svc-webhooks/core";
import type { Inbox, InboxAdmin, InboxEntry } from "@svc-webhooks/core/inbox";
import type { FakeClock } from "../fake-clock.js";

/** The settings of the queue that a case needs. */
export interface InboxSettings {
  /**
   * The number of attempts after which a job is a dead letter, 1 … 3. Make the pauses between attempts as short as the
   * queue allows, because most cases wait for these pauses.
   */
  readonly attempts: number;
  /**
   * Returns an event's key. Events with the same key run one at a time, in the order in which they were stored. Set
   * only if a case needs `order`.
   */
  readonly partitionBy?: ((event: AnyEvent) => string | undefined) | undefined;
  /** Whether later events of a key run after a dead letter, or wait. Undefined if the case does not depend on that. */
  readonly afterDead?: "continue" | "hold" | undefined;
}

/** A running worker. */
export interface InboxWorker {
  /** Stops the worker as for a deployment: no more jobs start, and running jobs end or are given back. */
  readonly stop: () => unknown;
}

/** A process's connection to the queue. */
export interface InboxConnection {
  readonly inbox: Inbox;
  /** Starts a worker that can run at least four jobs at a time. The contract awaits the result. */
  readonly work: (receiver: Pick<Receiver, "resume">) => MaybePromise<InboxWorker>;
  /** Required unless the option `admin` of the contract is false. */
  readonly admin?: InboxAdmin | undefined;
  /**
   * Cuts the connection as the death of its process would. From then on, none of its calls reaches the queue, jobs that
   * are not stored yet are lost, and running jobs are neither settled nor given back. The contract awaits the result.
   * Required unless the contract's option `kill` is false.
   */
  readonly kill?: (() => unknown) | undefined;
  /**
   * Silences the open connections to the server, as a firewall that has lost its state does: all packets are lost, and
   * nothing is closed. New connections work. The contract awaits the result. Required if the contract's option
   * `silence` is true.
   */
  readonly silence?: (() => unknown) | undefined;
}

/** A queue under test. */
export interface InboxUnderTest {
  /** Opens a connection to the queue, which is empty at first. A case opens one to eight connections. */
  readonly connect: () => MaybePromise<InboxConnection>;
  /**
   * Promotes another server, which has the same jobs, to primary. Open connections stay with the old primary, which
   * refuses writes; new connections reach the new primary. The contract awaits the result. Required if the contract's
   * option `demote` is true.
   */
  readonly demote?: (() => unknown) | undefined;
  /**
   * Leaves so little room in the server's storage that the server accepts only some jobs with a body of 100 kB. The
   * contract awaits the result. Required if the contract's option `fill` is true.
   */
  readonly fill?: (() => unknown) | undefined;
  /** Stores a job with any data, as another application that uses the queue might. The contract awaits the result. */
  readonly inject: (data: object) => unknown;
  /** Returns the dead letters. Default: `admin` lists them. Required if the contract's option `admin` is false. */
  readonly deadLetters?:
    (() => MaybePromise<readonly Pick<InboxEntry, "key" | "error">[]>) | undefined;
  /** A store that commits together with the queue. Default: the memory store, so that only the queue is tested. */
  readonly store?: DeliveryStore | undefined;
  /**
   * The clock of the queue, unless the queue uses real time. The contract moves this clock, and passes it to its
   * receivers. Default: the cases wait in real time.
   */
  readonly clock?: FakeClock | undefined;
  /** Called and awaited after each case: closes all connections and removes the queue. */
  readonly close?: (() => unknown) | undefined;
}
