import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cpuTimeMs } from "../cpu-time.js";
import { eventType } from "../deliveries.js";
import { platforms, type Handle } from "./platforms.js";

// Runs one contender. Sends its port, then its CPU time in milliseconds whenever it receives a message.
const [platform = "", name = ""] = process.argv.slice(2);
// Loaded only for its own contenders, so that Nest is not in the heap of all others.
const mount =
  platforms[platform]?.contenders[name] ??
  (await import("./other-requests.js")).otherRequests[platform]?.[name];
if (!mount) throw new Error(`There is no contender "${name}" on ${platform}.`);

// The handler is asynchronous, like any handler that does real work.
const handle: Handle = async (event) => {
  const type = (event as { type?: unknown } | undefined)?.type;
  if (type !== eventType) throw new TypeError("This is not the event that was sent.");
};

const server = createServer(await mount(handle));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", () => process.send?.(cpuTimeMs()));
// Exits when the parent has exited.
process.once("disconnect", () => process.exit());
