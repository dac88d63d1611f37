import { conflict, messageOf } from "../errors.js";
import type { Transport } from "../network/transport.js";
import type { World } from "../world.js";
import type { DeliveryRecord, EndpointRecord, FaultRecord, Tamper } from "../state/records.js";
import { createAttempts } from "./attempts.js";
import { createConclude } from "./conclude.js";
import { createLanes } from "./lanes.js";
import { createReorder } from "./reorder.js";
import { createSchedule, isArchived, lastResult } from "./schedule.js";

/** The most attempts to one endpoint that run at the same time. */
export const attemptsPerEndpoint = 10;

export interface ManualOrder {
  readonly times: number;
  readonly concurrent: boolean;
  readonly tamper?: Tamper | undefined;
}

/** Makes delivery attempts, on schedule or on request. */
export function createEngine(world: World, transport: Transport) {
  const { state, ledger, clock, log } = world;
  const inLane = createLanes(attemptsPerEndpoint);
  const attempts = createAttempts(world, transport);
  const schedule = createSchedule(world, (delivery) =>
    inLane(delivery.endpointId, () => run(delivery, () => runScheduled(delivery))),
  );
  const { arm, finish, afterRedelivery } = schedule;
  const conclude = createConclude(world, schedule);

  /** Runs work on a delivery. Logs a failure of the sandbox itself, and leaves the delivery usable. */
  const run = async (delivery: DeliveryRecord, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      log(`${delivery.id}: the attempt failed in the sandbox: ${messageOf(error)}`);
      if (delivery.state === "attempting") finish(delivery, "failed");
    }
    state.commitSoon();
  };

  const runScheduled = async (delivery: DeliveryRecord) => {
    // The delivery waited for its turn. Another attempt may have finished it meanwhile.
    const isDue = delivery.state === "pending" && (delivery.nextAttemptAt ?? 0) <= clock.now();
    if (!isDue || attempts.isGone(delivery)) return;
    if (isArchived(state, delivery)) return finish(delivery);
    await (reorder.apply(delivery) ?? makeScheduled(delivery));
  };

  const makeScheduled = async (delivery: DeliveryRecord, fault?: FaultRecord) => {
    delivery.state = "attempting";
    delivery.nextAttemptAt = undefined;
    const attempt = await attempts.make(delivery, { trigger: delivery.trigger, fault });
    if (attempt) conclude(delivery, attempt);
  };

  const reorder = createReorder(world, {
    postpone: (delivery, at) => schedule.set(delivery, at, delivery.trigger),
    attempt: (delivery, fault) => run(delivery, () => makeScheduled(delivery, fault)),
  });

  const sendOne = (delivery: DeliveryRecord, tamper: Tamper | undefined) =>
    run(delivery, async () => {
      const attempt = await attempts.make(delivery, { trigger: "manual", tamper });
      if (delivery.state === "attempting") return;
      // A receiver that has acknowledged the genuine bytes needs no further attempt.
      if (attempt?.ok && tamper === undefined) finish(delivery, "succeeded");
      if (attempt?.error?.kind === "dropped") finish(delivery, "failed");
    });

  return {
    /** Schedules the attempt of a delivery that was created or loaded, at its `nextAttemptAt`. */
    start: (delivery: DeliveryRecord): void =>
      schedule.set(delivery, delivery.nextAttemptAt ?? clock.now(), delivery.trigger),
    /** Makes one more attempt now. @throws ApiError 409 unless A-17 allows it */
    redeliver(delivery: DeliveryRecord): void {
      checkRedelivery(world, delivery);
      if (ledger.get("redeliver.identity") === "fresh") {
        delivery.deliveryId = world.ids.next("dlv");
        delivery.attempt = 0;
      }
      // The scheduled attempt is kept in case this one fails.
      if (delivery.state === "pending" && delivery.trigger !== "redeliver")
        delivery.resumeAt = delivery.nextAttemptAt;
      schedule.set(delivery, clock.now(), "redeliver");
    },
    /** Makes the next scheduled attempt now. @throws ApiError 409 if none is waiting */
    runNow(delivery: DeliveryRecord): void {
      waiting(delivery);
      schedule.set(delivery, clock.now(), delivery.trigger);
    },
    /** Skips the next scheduled attempt. @throws ApiError 409 if none is waiting */
    skip(delivery: DeliveryRecord): void {
      const at = waiting(delivery);
      if (delivery.trigger === "redeliver") return afterRedelivery(delivery);
      const delay = ledger.get("delivery.retry")[delivery.retries];
      if (delay === undefined) return finish(delivery);
      delivery.retries += 1;
      delivery.heldBy = undefined;
      schedule.set(delivery, at + delay, "retry");
    },
    /** Releases the deliveries that a fault holds, the last first. */
    release({ id }: FaultRecord): void {
      const [last] = reorder.held(id);
      if (last) clock.at(clock.now(), { kind: "attempt", id: last.id }, () => reorder.release(id));
    },
    /**
     * Makes `times` extra attempts, one after another or concurrently. A failed one is not retried and does not affect
     * the schedule. A successful one with the genuine body and signature finishes the delivery, and so does one that a
     * fault drops, unless a scheduled attempt is running.
     */
    sendManually(delivery: DeliveryRecord, { times, concurrent, tamper }: ManualOrder): void {
      const item = { kind: "attempt", id: delivery.id } as const;
      const send = () => sendOne(delivery, tamper);
      if (concurrent) {
        for (let n = 0; n < times; n += 1) clock.at(clock.now(), item, send);
      } else {
        clock.at(clock.now(), item, async () => {
          for (let n = 0; n < times; n += 1) await send();
        });
      }
    },
    /** Schedules the next attempt of a delivery whose changes have been rolled back. */
    takenBack: arm,
    /** Cancels the pending deliveries of an endpoint. */
    cancel({ id }: EndpointRecord): void {
      for (const delivery of state.deliveries.all()) {
        if (delivery.endpointId === id && delivery.state === "pending") finish(delivery);
      }
    },
    /** Cancels scheduled attempts and aborts running ones, for a reset. */
    clear(): void {
      schedule.clear();
      attempts.stop();
    },
    /** Stops all attempts. Running ones count as not made. */
    close: (): void => attempts.close(),
  };
}

export type Engine = ReturnType<typeof createEngine>;

/** @throws ApiError 409 unless the delivery may be redelivered */
function checkRedelivery({ state, ledger }: World, delivery: DeliveryRecord): void {
  if (isArchived(state, delivery))
    throw conflict("The endpoint is archived, so nothing is delivered to it.");
  if (delivery.state === "attempting")
    throw conflict("An attempt for this delivery is already running.");
  if (ledger.get("redeliver.allow") === "failed") {
    if (delivery.attempts.length === 0)
      throw conflict(
        "Only failed deliveries can be redelivered (A-17), and this delivery has not been attempted yet.",
      );
    if (lastResult(delivery) === "succeeded")
      throw conflict(
        "Only failed deliveries can be redelivered (A-17), but the last attempt succeeded.",
      );
  }
}

/** Returns the time of the pending attempt. @throws ApiError 409 if there is none */
const waiting = (delivery: DeliveryRecord): number => {
  if (delivery.state === "pending" && delivery.nextAttemptAt !== undefined)
    return delivery.nextAttemptAt;
  throw conflict(`No attempt is scheduled: the delivery's state is ${delivery.state}.`);
};
