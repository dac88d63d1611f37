import {
  createReceiver,
  memoryStore,
  type Clock,
  type DeliveryStore,
  type MaybePromise,
  type StandardSchemaV1,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import { secret, type TestDelivery } from "@svc-webhooks/kit/deliveries";
import { gate, type Gate } from "@svc-webhooks/kit/gate";

/** The points of a delivery at which a fault can strike, in order. */
export const points = [
  "before the claim is sent",
  "claim sent, not executed",
  "claim executed, reply not read",
  "claimed, handler not started",
  "in the handler, before the effect",
  "5 s into a handler of 90 s",
  "5 s into a handler of 16 min",
  "after the effect, before complete",
  "complete sent, not executed",
  "complete executed, reply not read",
  "after complete, before the response",
  "after the response",
] as const;

export type Point = (typeof points)[number];

/** How long handlers run at the points that need a long run: longer than a lease, or than `maxRunMs`. */
const longHandlers: { readonly [point in Point]?: number } = {
  "5 s into a handler of 90 s": 90_000,
  "5 s into a handler of 16 min": 16 * 60_000,
};

/** The state that the simulated processes share. */
export class World {
  readonly point: Point;
  readonly handlerMs: number;
  readonly clock: FakeClock = fakeClock();
  readonly store: DeliveryStore = memoryStore({ clock: this.clock });
  /** Whether the store is unavailable to all processes. */
  storeIsUnavailable = false;
  /** The effects of handlers, in order. */
  readonly effects: { readonly fence: number; readonly idempotencyKey: string }[] = [];

  constructor(point: Point) {
    this.point = point;
    this.handlerMs = longHandlers[point] ?? 0;
  }
}

/** A simulated process whose work can be suspended: until `thaw`, or permanently if it is dead. */
export class Process {
  #stop: Gate | undefined;
  readonly #overdue: (() => void)[] = [];

  freeze(): void {
    this.#stop = gate();
  }

  /**
   * Resumes the process. Overdue timers fire first, then replies in sockets are read, as observed in Node 20 after
   * SIGCONT.
   */
  thaw(): void {
    const stop = this.#stop;
    this.#stop = undefined;
    for (const fire of this.#overdue.splice(0)) fire();
    stop?.open();
  }

  async running(): Promise<void> {
    await this.#stop?.opened;
  }

  clock(world: Clock): Clock {
    return {
      now: () => world.now(),
      monotonic: () => world.monotonic(),
      after: (delayMs, run) => {
        let isCanceled = false;
        const fire = () => {
          if (isCanceled) return;
          if (this.#stop) this.#overdue.push(fire);
          else run();
        };
        const cancel = world.after(delayMs, fire);
        return () => {
          isCanceled = true;
          cancel();
        };
      },
    };
  }
}

/** Receives a delivery, and resolves with the status and code of the response. */
export type Receive = (delivery: TestDelivery) => Promise<string>;

/** Starts a receiver in its own simulated process. `reached` is called at each point that a delivery reaches. */
export function serve(
  world: World,
  reached: (point: Point, process: Process) => void = () => {},
): Receive {
  const process = new Process();
  const at = (point: Point) => {
    reached(point, process);
    return process.running();
  };

  const clock = process.clock(world.clock);
  const pause = (ms: number) => new Promise<void>((resume) => clock.after(ms, resume));

  const receiver = createReceiver({
    secret,
    store: distantStore(world, at),
    clock,
    // Expected: a process that resumes after its lease has expired does not start its handler, and reports an error.
    onHandlerError: () => {},
    // A schema is the only user code that runs between the claim and the handler, so it serves as this point.
    events: { "email.sent": schema(() => at("claimed, handler not started")) },
    on: {
      "email.sent": async (_event, { fence = 0, idempotencyKey }) => {
        await at("in the handler, before the effect");
        if (world.handlerMs > 0) {
          await pause(5_000);
          await at(world.point);
          await pause(world.handlerMs - 5_000);
        }
        world.effects.push({ fence, idempotencyKey });
        await at("after the effect, before complete");
      },
    },
    log: () => {},
  });

  return async (delivery) => {
    const { code, status } = await receiver.receive(delivery);
    await at("after complete, before the response");
    // Not awaited: the response has already been sent, so a fault cannot stop it.
    void at("after the response");
    return `${status} ${code}`;
  };
}

/**
 * Returns the shared store behind a simulated network. A call that is in transit when the store becomes unavailable is
 * lost without a reply.
 */
function distantStore(world: World, at: (point: Point) => Promise<void>): DeliveryStore {
  const { store } = world;
  const reach = () => {
    if (world.storeIsUnavailable) throw new Error("the store is unavailable");
  };
  const over = async <Result>(
    operation: "claim" | "complete",
    call: () => MaybePromise<Result>,
  ): Promise<Result> => {
    reach();
    await at(`${operation} sent, not executed`);
    if (world.storeIsUnavailable) return never;
    const result = await call();
    await at(`${operation} executed, reply not read`);
    return world.storeIsUnavailable ? never : result;
  };
  return {
    ...store,
    async claim(...call) {
      await at("before the claim is sent");
      return over("claim", () => store.claim(...call));
    },
    complete: (...call) => over("complete", () => store.complete(...call)),
    release(...call) {
      reach();
      return store.release(...call);
    },
    extend(...call) {
      reach();
      return store.extend(...call);
    },
  };
}

/** A reply that never arrives. */
const never = new Promise<never>(() => {});

const schema = (before: () => Promise<void>): StandardSchemaV1 => ({
  "~standard": {
    version: 1,
    vendor: "crash-points",
    async validate(value) {
      await before();
      return { value };
    },
  },
});
