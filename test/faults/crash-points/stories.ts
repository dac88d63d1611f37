import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { points, serve, World, type Point, type Process, type Receive } from "./server.js";

interface Fault {
  readonly name: string;
  readonly strike: (process: Process, world: World) => void;
}

/** The faults to simulate. Leases last 30 s. */
export const faults: readonly Fault[] = [
  { name: "nothing fails", strike: () => {} },
  { name: "the process dies", strike: (process) => process.freeze() },
  {
    name: "the process freezes for 60 s",
    strike(process, { clock }) {
      process.freeze();
      clock.after(60_000, () => process.thaw());
    },
  },
  {
    name: "the store is unavailable for 5 s",
    strike: (_process, world) => disconnectStore(world, 5_000),
  },
  {
    name: "the store is unavailable for 60 s",
    strike: (_process, world) => disconnectStore(world, 60_000),
  },
];

function disconnectStore(world: World, ms: number): void {
  world.storeIsUnavailable = true;
  world.clock.after(ms, () => (world.storeIsUnavailable = false));
}

export type Verdict = "clean" | "clean until redelivered" | "doubled" | "lost";

/** The result of one delivery. */
export interface Story {
  readonly point: Point;
  readonly fault: string;
  readonly verdict: Verdict;
  /** The response to each attempt, up to and including the first 2xx. */
  readonly seen: readonly string[];
  /** The fence and idempotency key of each effect, in order. */
  readonly effects: World["effects"];
  /** The response to one more copy, sent after all other work has finished. */
  readonly redelivery: string;
}

const giveUpMs = 15_000;
const retryMs = 5_000;

/** The response to a copy of a running delivery. Responding with 200 is the mistake that loses events. */
export type InFlight = "503 in_flight" | "200 in_flight";

/**
 * Sends a delivery to a process that a fault hits at `point`, then to another process until it is acknowledged. Finally
 * sends one more copy.
 */
async function play(point: Point, fault: Fault, inFlight: InFlight): Promise<Story> {
  const world = new World(point);
  const { clock, effects, handlerMs } = world;
  let hasStruck = false;
  const first = serve(world, (here, process) => {
    if (here !== point || hasStruck) return;
    hasStruck = true;
    fault.strike(process, world);
  });
  const second = serve(world);

  /** Makes one attempt as the sender, which gives up after 15 s. */
  const attempt = async (receive: Receive, number: number): Promise<string> => {
    const delivery = await signed(eventBody(), { "x-svc-attempt": String(number) });
    const responses: string[] = [];
    void receive(delivery).then((response) => responses.push(response));
    const givesUpAt = clock.monotonic() + giveUpMs;
    await clock.advance(0);
    while (responses.length === 0 && clock.monotonic() < givesUpAt) await clock.advance(500);
    const [response = "no response"] = responses;
    return response === "503 in_flight" ? inFlight : response;
  };

  const seen = [await attempt(first, 1)];
  while (!seen.at(-1)?.startsWith("200")) {
    if (seen.length > 300) throw new Error(`300 attempts got no 2xx: ${seen.join(", ")}`);
    await clock.advance(retryMs);
    seen.push(await attempt(second, seen.length + 1));
  }
  // By then, the frozen process has resumed, the store is back, and every running handler has finished.
  await clock.advance(300_000 + 2 * handlerMs);

  const before = [...effects];
  const redelivery = await attempt(second, seen.length + 1);
  const verdict = verdictOf(before.length, redelivery);
  return { point, fault: fault.name, verdict, seen, effects: before, redelivery };
}

function verdictOf(effects: number, redelivery: string): Verdict {
  if (effects === 0) return "lost";
  if (effects > 1) return "doubled";
  return redelivery === "200 duplicate" ? "clean" : "clean until redelivered";
}

/** Simulates every fault at every point. */
export async function playAll(inFlight: InFlight = "503 in_flight"): Promise<readonly Story[]> {
  const stories: Story[] = [];
  for (const point of points) {
    for (const fault of faults) stories.push(await play(point, fault, inFlight));
  }
  return stories;
}
