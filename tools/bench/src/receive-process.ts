import { telemetry } from "@svc-webhooks/otel";
import { cpuTimeMs } from "./cpu-time.js";
import { deliveriesOf } from "./deliveries.js";
import { handWritten, ours, type Receive } from "./receivers.js";

type Handle = () => void | Promise<void>;

const contenders: Readonly<Record<string, (handle: Handle) => Receive>> = {
  "hand-written": handWritten,
  "svc-webhooks": ours,
  "with telemetry, without an SDK": (handle) => ours(handle, telemetry()),
};

// Each contender has its own process and heap. In a shared heap, each would pay for the garbage of the others.
const [name = "", handler, bytes, filled] = process.argv.slice(2);
const create = contenders[name];
if (!create) throw new Error(`There is no contender "${name}".`);
const receive = create(handler === "async" ? async () => {} : () => {});
const next = deliveriesOf(Number(bytes));

async function deliver(count: number): Promise<void> {
  for (let delivery = 0; delivery < count; delivery++) await receive(next());
}

await deliver(Number(filled));

// Sends the CPU time per delivery in microseconds whenever it receives a number of milliseconds to run for.
process.on("message", async (turnMs) => {
  const [startedAt, before] = [performance.now(), cpuTimeMs()];
  let delivered = 0;
  do {
    await deliver(100);
    delivered += 100;
  } while (performance.now() - startedAt < Number(turnMs));
  process.send?.(((cpuTimeMs() - before) / delivered) * 1_000);
});
process.once("disconnect", () => process.exit());
process.send?.("filled");
