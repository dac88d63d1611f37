// The connection of the server to the demo; a real server has none of this.
import { once } from "node:events";

/** Reports something to the demo. */
export const report = (message) => process.send?.(message);

/** Reports that a handler has begun. With `STOPS_AT`, it waits for a message; the demo kills the process there. */
export async function begun(emailId) {
  if (!process.connected) return;
  report({ emailId });
  if (process.env.STOPS_AT === emailId) await once(process, "message");
}

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
