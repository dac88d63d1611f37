import { conflict } from "../errors.js";
import type { Transport } from "../network/transport.js";
import type { World } from "../world.js";
import type { DeliveryRecord, EndpointRecord, Tamper } from "../state/records.js";
import { createDispatch } from "./dispatch.js";
import { isArchived, lastResult } from "./schedule.js";

export interface ManualOrder {
  readonly times: number;
  readonly concurrent: boolean;
  readonly tamper?: Tamper | undefined;
}

/**
 * Accepts orders to attempt deliveries, and rejects those that a delivery's state does not allow.
 * {@link createSchedule} lists the states.
 */
export function createEngine(world: World, transport: Transport) {
  const { state, ledger, clock } = world;
  const { attempts, schedule, release, attemptManually } = createDispatch(world, transport);

  return {
    /** Schedules the next attempt of a new or restored delivery: for its `nextAttemptAt`, or now if that is absent. */
    start: (delivery: DeliveryRecord): void =>
      schedule.set(delivery, delivery.nextAttemptAt ?? clock.now()),
    /**
     * Makes one more attempt now.
     * @throws ApiError 409 if the endpoint is archived, an attempt is running, or A-17 does not allow it
     */
    redeliver(delivery: DeliveryRecord): void {
      checkRedelivery(world, delivery);
      if (ledger.get("redeliver.identity") === "fresh") attempts.renew(delivery);
      schedule.redeliver(delivery);
    },
    /** Makes the next scheduled attempt now. @throws ApiError 409 if no attempt is scheduled */
    runNow(delivery: DeliveryRecord): void {
      waiting(delivery);
      schedule.set(delivery, clock.now());
    },
    /** Skips the next scheduled attempt. @throws ApiError 409 if no attempt is scheduled */
    skip(delivery: DeliveryRecord): void {
      const at = waiting(delivery);
      if (delivery.trigger === "redeliver") schedule.resume(delivery);
      else if (!schedule.retry(delivery, at)) schedule.finish(delivery);
    },
    release,
    /**
     * Makes `times` extra attempts, one after another or concurrently. A failed attempt is not retried and does not
     * affect the schedule. An attempt that succeeds without tampering, or that a fault drops as failed, finishes the
     * delivery, unless a scheduled attempt is running.
     */
    sendManually(delivery: DeliveryRecord, { times, concurrent, tamper }: ManualOrder): void {
      const item = { kind: "attempt", id: delivery.id } as const;
      const send = () => attemptManually(delivery, tamper);
      if (concurrent) {
        for (let n = 0; n < times; n += 1) clock.at(clock.now(), item, send);
      } else {
        clock.at(clock.now(), item, async () => {
          for (let n = 0; n < times; n += 1) await send();
        });
      }
    },
    /**
     * Cancels the scheduled attempt of a delivery whose changes were rolled back. Schedules the attempt that the
     * restored record has, if any.
     */
    takenBack: schedule.arm,
    /** Finishes the pending deliveries of an endpoint without further attempts. */
    cancel({ id }: EndpointRecord): void {
      for (const delivery of state.deliveries.all()) {
        if (delivery.endpointId === id && delivery.state === "pending") schedule.finish(delivery);
      }
    },
    /** Cancels scheduled attempts and aborts running ones, for a reset or a rewind. */
    clear(): void {
      schedule.clear();
      attempts.stop();
    },
    /** Stops all attempts. Running ones count as not made. */
    close: (): void => attempts.close(),
  };
}

export type Engine = ReturnType<typeof createEngine>;

/** Checks that a delivery may be redelivered now. @throws ApiError 409 if it may not */
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

/** Returns the time of the scheduled attempt. @throws ApiError 409 if there is none */
const waiting = (delivery: DeliveryRecord): number => {
  if (delivery.state === "pending" && delivery.nextAttemptAt !== undefined)
    return delivery.nextAttemptAt;
  throw conflict(`No attempt is scheduled: the delivery's state is ${delivery.state}.`);
};
