import { WebhookError } from "@svc-webhooks/core";
import { leave } from "./leave.js";

/** A connection of a client: its only one, or its connection to one node of a cluster. */
export interface Link {
  /** An object that identifies the connection. */
  readonly id: object;
  /** Returns whether the server has accepted the connection, even if the server has not sent anything yet. */
  readonly isOpen: () => boolean;
  /** Sends a command that a server executes even while it loads its data or is a replica without a primary. */
  readonly ask: () => Promise<unknown>;
  readonly reconnect: () => void;
}

export interface SilenceWatch {
  /**
   * Watches a call that was sent. When it has settled, calls `onEnd`. Then settles like the call or, if the call
   * failed, like `onError`.
   */
  readonly over: (
    reply: Promise<unknown>,
    onError: (error: unknown) => unknown,
    onEnd?: () => void,
  ) => Promise<unknown>;
  /** Returns the error for a call that is not sent because no connection is ready, and probes the open connections. */
  readonly notConnected: (status?: string) => WebhookError;
}

/** A liveness probe whose reply is pending on a connection. */
interface Question {
  ticks: number;
  /**
   * Whether the probe was rejected while the connection was open, for example because the client's queue is full. The
   * next tick sends the probe again.
   */
  isUnsent: boolean;
}

/**
 * The calls that were sent between two ticks. They are only counted, because a timer or a listener for each would cost
 * more than sending the call.
 */
interface Batch {
  pending: number;
  ticks: number;
}

const tickMs = 250;
/**
 * The number of ticks to wait for a reply: at least 1.5 s. Ticks measure only the time in which this process runs: if
 * the process is blocked, that counts as one tick, and data that arrived meanwhile is read before the next tick.
 */
const patience = 7;

/**
 * Replaces connections that have silently stopped responding. By default, a client keeps using them until the kernel
 * closes them, after minutes or never. The watch is in one of three states:
 *
 * - **idle**: no call and no probe is pending, so no timer runs. A call is sent → counting. A call is rejected because
 *   no connection is ready, but one is open → asking.
 * - **counting**: calls are pending, and each tick counts for those that were sent before it. The oldest of them has
 *   had no reply for at least 1.5 s → asking. All have ended → idle.
 * - **asking**: a probe was sent on every open connection. A connection that replies is healthy; one that has not
 *   replied for at least 1.5 s is replaced, but at most every 5 s. No probe is pending any more → counting or idle.
 *
 * The watch has its own timer. It does not use the deadlines of calls, which the receiver's clock measures. A single
 * call is enough to start it.
 */
export function watchSilence(links: () => readonly Link[]): SilenceWatch {
  let batch: Batch | undefined;
  /** The batches, the oldest first. Each tick removes those without pending calls. */
  let batches: Batch[] = [];
  const asked = new Map<object, Question>();
  let timer: NodeJS.Timeout | undefined;

  const openLinks = () => links().filter(({ isOpen }) => isOpen());

  const start = () => {
    timer ??= setInterval(tick, tickMs).unref();
  };

  const begin = () => {
    batch = { pending: 0, ticks: 0 };
    batches.push(batch);
    start();
    return batch;
  };

  const tick = () => {
    batch = undefined;
    batches = batches.filter(({ pending }) => pending > 0);
    for (const pending of batches) pending.ticks += 1;
    if (asked.size > 0) judge();
    else if ((batches[0]?.ticks ?? 0) >= patience) askAll();
    if (batches.length > 0 || asked.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const judge = () => {
    const open = new Map(openLinks().map((link) => [link.id, link]));
    for (const [id, question] of asked) {
      const link = open.get(id);
      question.ticks += 1;
      if (!link || (question.ticks >= patience && leave(id, link.reconnect))) asked.delete(id);
      else if (question.isUnsent) send(link, question);
    }
  };

  const askAll = () => {
    for (const pending of batches) pending.ticks = 0;
    for (const link of openLinks()) {
      if (asked.has(link.id)) continue;
      const question = { ticks: 0, isUnsent: false };
      asked.set(link.id, question);
      send(link, question);
    }
    if (asked.size > 0) start();
  };

  const send = ({ id, isOpen, ask }: Link, question: Question) => {
    question.isUnsent = false;
    const answered = () => void (asked.get(id) === question && asked.delete(id));
    ask().then(answered, () => {
      if (isOpen()) question.isUnsent = true;
      else answered();
    });
  };

  return {
    over(reply, onError, onEnd) {
      const sentIn = batch ?? begin();
      sentIn.pending += 1;
      // A single `then` does everything, because every additional promise slows down the call.
      return reply.then(
        (value) => {
          sentIn.pending -= 1;
          // If there is only one connection, a reply shows that it works. In a cluster, another node may have replied.
          if (asked.size > 0 && links().length === 1) asked.clear();
          onEnd?.();
          return value;
        },
        (error: unknown) => {
          sentIn.pending -= 1;
          onEnd?.();
          return onError(error);
        },
      );
    },
    notConnected(status = "") {
      askAll();
      return new WebhookError("not_sent", `The Redis client is not connected${status}.`);
    },
  };
}
