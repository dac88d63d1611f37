import { memoryStores } from "./memory-stores.js";

// Each store has its own process and heap. In a shared heap, small stores would pay for the garbage collection of big
// ones.
const [kind = "", size] = process.argv.slice(2);
const deliver = memoryStores[kind]?.(Number(size));
if (!deliver) throw new Error(`There is no store "${kind}".`);

process.on("message", async (turnMs) => {
  const start = performance.now();
  let delivered = 0;
  do {
    await deliver(1_000);
    delivered += 1_000;
  } while (performance.now() - start < Number(turnMs));
  process.send?.(((performance.now() - start) / delivered) * 1_000);
});
process.send?.("filled");
