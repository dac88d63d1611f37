import { openQueue } from "../../processes/queue.js";
import { serve, settings, storing } from "./process.js";

/** A process that accepts deliveries and runs them from BullMQ. */
const { queue, inbox, work } = openQueue(settings.redisPort ?? 0, {
  name: settings.queue,
  lockMs: 3_000,
  isPatient: true,
});
queue.add = storing(queue.add.bind(queue));
await queue.waitUntilReady();
serve({ inbox, work });
