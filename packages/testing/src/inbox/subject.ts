import type { AnyEvent, DeliveryStore, MaybePromise, Receiver } from "@svc-webhooks/core";
import type { Inbox, InboxAdmin, InboxEntry } from "@svc-webhooks/core/inbox";
import type { FakeClock } from "../fake-clock.js";

/** The settings that a case needs of its queue. */
export interface InboxSettings {
  /**
   * The number of attempts after which a job is a dead letter, 1 … 3. Make the pauses between them as short as the
   * queue allows, because most cases wait for them.
   */
  readonly attempts: number;
  /** Set in the cases of order: events with the same key run one at a time, in the order in which they were stored. */
  readonly partitionBy?: ((event: AnyEvent) => string | undefined) | undefined;
  /** Set in the cases of order: whether later events of a key run after a dead letter. */
  readonly afterDead?: "continue" | "hold" | undefined;
}

/** A running worker. */
export interface InboxWorker {
  /** Stops as for a deployment: no job starts, and jobs that run end first or are given back. */
  readonly stop: () => unknown;
}

/** A connection to the queue, as one process has it. */
export interface InboxConnection {
  readonly inbox: Inbox;
  /** Starts a worker that runs at least four jobs at a time. The result is awaited. */
  readonly work: (receiver: Pick<Receiver, "resume">) => MaybePromise<InboxWorker>;
  /** Required unless the option `admin` of the contract is false. */
  readonly admin?: InboxAdmin | undefined;
  /**
   * Cuts the connection as the death of its process would. From now on, none of its calls reaches the queue, jobs that
   * were not stored yet are lost, and jobs that run are neither settled nor given back. The result is awaited. Required
   * unless the option `kill` of the contract is false.
   */
  readonly kill?: (() => unknown) | undefined;
  /**
   * Silences the open connections to the server, as a firewall does that has lost its state: what is sent is lost, and
   * nothing is closed. New connections work. The result is awaited. Required if the option `silence` of the contract is
   * true.
   */
  readonly silence?: (() => unknown) | undefined;
}

/** A queue under test. */
export interface InboxUnderTest {
  /** Opens a connection to the queue, which is empty at first. A case opens one to three. */
  readonly connect: () => MaybePromise<InboxConnection>;
  /**
   * Makes another server the primary, with the same jobs. Open connections stay with the old one, which refuses writes; new
   * ones reach the new one. The result is awaited. Required if the option `demote` of the contract is true.
   */
  readonly demote?: (() => unknown) | undefined;
  /**
   * Leaves so little room in the server's storage that it refuses jobs after some with a body of 100 kB. The result is
   * awaited. Required if the option `fill` of the contract is true.
   */
  readonly fill?: (() => unknown) | undefined;
  /** Stores a job with any data, as another application that writes to the queue might. The result is awaited. */
  readonly inject: (data: object) => unknown;
  /** Returns the dead letters. Default: those of `admin`. */
  readonly deadLetters?:
    (() => MaybePromise<readonly Pick<InboxEntry, "key" | "error">[]>) | undefined;
  /** A store that commits with the queue. Default: the memory store, so that the queue is examined alone. */
  readonly store?: DeliveryStore | undefined;
  /**
   * The clock of the queue, if it is not real time. The contract moves it, and gives it to its receivers. Default: the
   * cases wait in real time.
   */
  readonly clock?: FakeClock | undefined;
  /** Called and awaited after each case: closes all connections and removes the queue. */
  readonly close?: (() => unknown) | undefined;
}
