import { messageOf } from "../errors.js";
import type { Transport } from "../network/transport.js";
import type { DeliveryRecord, FaultRecord, Tamper } from "../state/records.js";
import type { World } from "../world.js";
import { createAttempts } from "./attempts.js";
import { conclude } from "./conclude.js";
import { createLanes } from "./lanes.js";
import { createReorder, type Released } from "./reorder.js";
import { createSchedule, isArchived } from "./schedule.js";

/**
 * The maximum number of scheduled attempts to one endpoint that run at the same time. Manual attempts, and batches that
 * a canceled fault releases, do not count.
 */
const attemptsPerEndpoint = 10;

/**
 * Makes the attempts that are due. When a delivery is due, `schedule` calls `attemptDue`. `reorder` then returns the
 * deliveries to attempt: usually only this one, but with a fault of kind `reorder`, none or a whole batch. `conclude`
 * finishes each delivery or schedules its next attempt.
 */
export function createDispatch(world: World, transport: Transport) {
  const { state, clock, log } = world;
  const inLane = createLanes(attemptsPerEndpoint);
  const attempts = createAttempts(world, transport);
  const schedule = createSchedule(world, (delivery) =>
    inLane(delivery.endpointId, () => logged(delivery, () => attemptDue(delivery))),
  );
  const reorder = createReorder(world, schedule);

  const attemptDue = async (delivery: DeliveryRecord) => {
    // While the delivery waited in its endpoint's lane, another attempt may have finished it.
    const isDue = delivery.state === "pending" && (delivery.nextAttemptAt ?? 0) <= clock.now();
    if (!isDue || attempts.isGone(delivery)) return;
    if (isArchived(state, delivery)) return schedule.finish(delivery);
    await attemptEach(reorder.next(delivery));
  };

  /** Makes the next attempt of each delivery, one delivery after another. */
  const attemptEach = async (released: Iterable<Released>) => {
    for (const { delivery, fault } of released) {
      await logged(delivery, async () => {
        schedule.begin(delivery);
        const attempt = await attempts.make(delivery, { trigger: delivery.trigger, fault });
        if (attempt) conclude(world, schedule, delivery, attempt);
      });
    }
  };

  /**
   * Runs work on a delivery. If the work throws, the sandbox itself has failed: logs the error, and finishes the
   * delivery as failed if it is attempting.
   */
  const logged = async (delivery: DeliveryRecord, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      log(`${delivery.id}: the attempt failed in the sandbox: ${messageOf(error)}`);
      if (delivery.state === "attempting") schedule.finish(delivery, "failed");
    }
    state.commitSoon();
  };

  return {
    attempts,
    schedule,
    /** Releases the deliveries that a fault holds, newest first. */
    release: ({ id }: FaultRecord): void => {
      const [last] = reorder.held(id);
      if (!last) return;
      clock.at(clock.now(), { kind: "attempt", id: last.id }, () =>
        attemptEach(reorder.release(id)),
      );
    },
    /** Makes an extra attempt. It does not change the schedule unless it finishes the delivery. */
    attemptManually: (delivery: DeliveryRecord, tamper: Tamper | undefined): Promise<void> =>
      logged(delivery, async () => {
        const attempt = await attempts.make(delivery, { trigger: "manual", tamper });
        if (delivery.state === "attempting") return;
        // A receiver that has acknowledged the genuine bytes needs no further attempt.
        if (attempt?.ok && tamper === undefined) schedule.finish(delivery, "succeeded");
        if (attempt?.error?.kind === "dropped") schedule.finish(delivery, "failed");
      }),
  };
}
