import { z } from "zod";
import { eventId } from "./inputs.js";
import { stateOf, stateSchema } from "./timeline.js";
import { tool } from "./tool.js";

export const replay = tool({
  name: "replay",
  title: "Redeliver an event",
  description:
    "Asks the service to deliver an event again, with the same ids and bytes. A receiver that recognizes duplicates does not run its handler again if it has already handled the event.",
  input: z.strictObject({
    event_id: eventId.describe("the delivery's event_id, from timeline"),
  }),
  facts: z.object({
    state: stateSchema,
  }),
  writes: "service",
  isDestructive: true,
  async run({ service }, { event_id }, signal) {
    const event = await service.call(
      ({ webhookEvents }) => webhookEvents.redeliver(event_id, { signal }),
      signal,
    );
    return {
      ok: true,
      code: "redelivery_accepted",
      happened: "The service accepted the redelivery.",
      facts: { state: stateOf(event?.status) },
      next_step: "Call wait_for with this event_id to see how the redelivery ends.",
    };
  },
});
