import { followDeliveries, type Followed } from "@svc-webhooks/cli/workbench";
import { z } from "zod";
import { findDelivery } from "./find-delivery.js";
import { eventId } from "./inputs.js";
import type { World } from "../world.js";
import { resultOf } from "./texts.js";
import { lastOutcome, lineOf, stateOf, stateSchema, type State } from "./timeline.js";
import { tool } from "./tool.js";

/** The longest pause between two requests to the service, in milliseconds. The last pause ends at the deadline. */
const pauseMs = 500;

const reached: Readonly<Record<string, readonly State[]>> = {
  succeeded: ["succeeded"],
  failed: ["failed"],
  finished: ["succeeded", "failed"],
};

export const waitFor = tool({
  name: "wait_for",
  title: "Wait for a delivery to end",
  description:
    "Waits until a delivery reaches `state`, and returns its attempts. Without `event_id`, it examines the newest delivery, or the newest delivery of `type`. It gives up after `timeout_seconds`, and stops when the call is canceled.",
  input: z.strictObject({
    event_id: eventId.optional(),
    type: z.string().min(1).max(200).optional().describe("the event type"),
    state: z.enum(["succeeded", "failed", "finished"]).default("finished"),
    min_attempts: z.int().min(0).max(100).default(0).describe("also wait for this many attempts"),
    timeout_seconds: z.int().min(1).max(50).default(20),
  }),
  facts: z.object({
    state: stateSchema.optional(),
    attempts: z.number().optional(),
    waited_ms: z.number(),
  }),
  writes: "nothing",
  async run(world, input, signal) {
    const { clock } = world;
    const { state: wanted, min_attempts, timeout_seconds } = input;
    const start = clock.now();
    const deadline = start + timeout_seconds * 1_000;
    const limit = clock.timeout(timeout_seconds * 1_000);
    const either = AbortSignal.any([signal, limit]);
    let delivery: Followed | undefined;
    let hasLooked = false;
    for (;;) {
      try {
        delivery = await newest(world, input, either);
        hasLooked = true;
      } catch (error) {
        if (signal.aborted || !limit.aborted) throw error;
      }
      const waited_ms = clock.now() - start;
      const facts = {
        ...(delivery && { state: stateOf(delivery.status), attempts: attemptsOf(delivery) }),
        waited_ms,
      };
      const untrusted = delivery ? ([["delivery", lineOf(delivery)]] as const) : [];
      if (
        delivery &&
        reached[wanted]?.includes(stateOf(delivery.status)) === true &&
        attemptsOf(delivery) >= min_attempts
      )
        return { ...ending(delivery), facts, untrusted };
      const left = deadline - clock.now();
      if (left <= 0 || limit.aborted) {
        if (!hasLooked) return { ...unresponsive, facts };
        return {
          ok: false,
          code: delivery ? "wait_timeout" : "no_delivery",
          happened: delivery
            ? "The delivery did not reach the state in time."
            : "No such delivery was found in time.",
          facts,
          untrusted,
          next_step: delivery
            ? "Call timeline with the delivery's event_id. If a retry is scheduled for later, call wait_for again then."
            : "Check that an endpoint is registered for the event type, then trigger the event again.",
        };
      }
      await clock.sleep(Math.min(pauseMs, left), signal);
    }
  },
});

const unresponsive = {
  ok: false,
  code: "wait_timeout",
  happened: "The service did not respond in time.",
  next_step:
    "Call wait_for again with a longer timeout_seconds. If the service still does not respond, ask the user to check it.",
};

/** Returns the number of a delivery's attempts, or 0 if the service sent an invalid number. */
function attemptsOf({ attempts, attemptsMade }: Followed): number {
  const count = attemptsMade?.length ?? attempts;
  return Number.isFinite(count) ? count : 0;
}

const newest = (
  { service }: World,
  {
    event_id,
    type,
  }: { readonly event_id?: string | undefined; readonly type?: string | undefined },
  signal: AbortSignal,
): Promise<Followed | undefined> =>
  service.call(
    (client) => findDelivery(followDeliveries(client, undefined, signal)(), { event_id, type }),
    signal,
  );

function ending(delivery: Followed) {
  const ok = stateOf(delivery.status) === "succeeded";
  return {
    ok,
    ...resultOf(lastOutcome(delivery), {
      code: ok ? "delivery_succeeded" : "delivery_failed",
      happened: ok ? "The receiver accepted the delivery." : "The delivery has failed.",
    }),
    next_step: ok
      ? "Nothing needs to be done."
      : "Call timeline with the delivery's event_id to see the responses. After the fix, call replay.",
  };
}
