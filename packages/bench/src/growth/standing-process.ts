import { standingStores, type StandingKind } from "./standing-store.js";

// A process of its own has a heap of its own: otherwise small stores would pay, in their turns, for
// what big ones cost the garbage collector.
const [kind, size] = process.argv.slice(2);
const { deliver } = await standingStores[kind as StandingKind](Number(size));
process.on("message", async (count: number) => {
  await deliver(count);
  process.send?.("delivered");
});
process.send?.("filled");
