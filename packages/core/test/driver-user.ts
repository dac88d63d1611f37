import { secret, signed } from "@svc-webhooks/kit/deliveries";
import type { FakeClock } from "@svc-webhooks/testing";
import fc from "fast-check";
import {
  PermanentError,
  RetryError,
  WebhookError,
  type DeliveryContext,
  type EventSchemas,
  type ReceiverOptions,
  type ReleaseRequest,
} from "../src/index.js";
import { pause } from "../src/lib/deadline.js";
import { schemaBy, throwing } from "./support.js";

type Run = () => unknown;
type Ends = Readonly<Record<string, (run: Run) => unknown>>;

const { body: bytes, ...rest } = await signed();
const fails = throwing(new Error("no"));

/** The functions of the user, and the ways in which each may end. The first one is the most frequent. */
const ways = {
  body: { bytes: () => bytes, fails },
  secret: { key: () => secret, fails },
  claim: {
    claimed: () => ({ status: "claimed", run: 1, fence: 10 }),
    done: () => ({ status: "done" }),
    unreadable: () => Object.defineProperty({}, "status", { get: fails }),
    fails,
  },
  schema: { accepts: () => ({ value: {} }), rejects: () => ({ issues: [] }), fails },
  around: {
    returns: (run: Run) => run(),
    awaits: async (run: Run) => void (await run()),
    runsTwice: async (run: Run) => [await run(), await run()],
    forgets: (run: Run) => void run(),
    skips: () => {},
    fails,
  },
  handler: {
    returns: () => {},
    fails,
    retries: throwing(new RetryError({ retryAfterMs: 7_000 })),
    parks: throwing(new PermanentError("never")),
  },
  onParked: { returns: () => {}, fails },
  complete: {
    owner: () => "owner",
    refuses: throwing(new WebhookError("handler_failed", "refused")),
    fails,
  },
  release: { released: () => true, refuses: () => false, fails },
  extend: { extended: () => true, refuses: () => false, fails },
} satisfies Record<string, Ends>;

type Name = keyof typeof ways;

/** When a call ends: as a value, a promise or a thenable, after milliseconds of the clock, or never. */
type When = "now" | "resolved" | "thenable" | "slow thenable" | "never" | number;

/*
 * No two deadlines may be due at the same millisecond, because their order would depend on how the timers were set. The
 * receiver's deadlines and pauses are multiples of 125 ms if Math.random() returns 0.5, and these are 1 to 5 more. They
 * are so short that no lease ends before the handler starts, because the model does not contain that.
 */
const delays = fc.constantFrom(1, 502, 1_003, 1_504, 2_504, 9_005, 12_002, 14_003);
const when = fc.oneof(
  { weight: 5, arbitrary: fc.constant<When>("now") },
  { weight: 4, arbitrary: fc.constantFrom<When>("resolved", "thenable", "slow thenable") },
  { weight: 3, arbitrary: delays },
  fc.constant<When>("never"),
);

/** The plays of successive calls of a function. The last one is repeated. */
function calls(name: Name, definedPercent: number) {
  const [first = "", ...others] = Object.keys(ways[name]);
  const end = fc.oneof({ weight: 2, arbitrary: fc.constant(first) }, fc.constantFrom(...others));
  const list = fc.array(fc.record({ end, when }), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: definedPercent, arbitrary: list },
    { weight: 100 - definedPercent, arbitrary: fc.constant(undefined) },
  );
}

/** How the functions of a user behave. A function that is undefined returns the first of its ways, or is not set. */
export const behavior = fc.record({
  body: calls("body", 33),
  secret: calls("secret", 33),
  claim: calls("claim", 33),
  schema: calls("schema", 33),
  around: calls("around", 33),
  handler: calls("handler", 90),
  onParked: calls("onParked", 50),
  complete: calls("complete", 90),
  release: calls("release", 90),
  extend: calls("extend", 90),
  handlerTimeoutMs: fc.constantFrom(2_000, 12_500),
  hasWaitUntil: fc.boolean(),
});

export type Behavior = typeof behavior extends fc.Arbitrary<infer Value> ? Value : never;

export type User = ReturnType<typeof userOf>;

/** A delivery and the code of its user, which records the calls with their times. */
export function userOf(behaves: Behavior, clock: FakeClock) {
  const startedAt = clock.now();
  const elapsed = () => clock.now() - startedAt;
  /** The calls of the user's functions, the reports and the aborts. */
  const trace: string[] = [];
  /** The times at which `then` of a thenable was called. */
  const thens: number[] = [];
  /** The times at which the promises that `waitUntil` received have settled. Undefined while they are pending. */
  const works: (number | undefined)[] = [];
  const record = (...parts: readonly unknown[]) => void trace.push([elapsed(), ...parts].join(" "));

  const counts: Partial<Record<Name, number>> = {};
  /** Records a call, and ends it as the next of its plays states. */
  const call = (name: Name, run: Run = () => {}): never => {
    record(name);
    const ends: Ends = ways[name];
    const [first = ""] = Object.keys(ends);
    const count = (counts[name] = (counts[name] ?? 0) + 1);
    const plays = behaves[name] ?? [];
    const play = plays[Math.min(count, plays.length) - 1];
    return endAt(play?.when ?? "now", () => ends[play?.end ?? first]?.(run)) as never;
  };
  const endAt = (at: When, end: () => unknown): unknown => {
    if (at === "now") return end();
    if (at === "resolved") return Promise.resolve().then(end);
    if (at === "never") return new Promise(() => {});
    if (typeof at === "number") return pause(clock, at).then(end);
    return thenable(end, (settle) => {
      thens.push(elapsed());
      if (at === "thenable") settle();
      else clock.after(2_505, settle);
    });
  };

  const options = {
    name: "test",
    clock,
    leaseMs: 30_000,
    maxRunMs: 30_000,
    handlerTimeoutMs: behaves.handlerTimeoutMs,
    secret: () => call("secret"),
    store: {
      shared: false,
      claim: () => call("claim"),
      complete: () => call("complete"),
      release: (_key: string, { to }: ReleaseRequest) => {
        record(to);
        return call("release");
      },
      extend: () => call("extend"),
      forget: () => false,
    },
    events: behaves.schema && { "email.sent": schemaBy(() => call("schema")) },
    around: behaves.around && ((run: Run) => call("around", run)),
    on: {
      "*": (_event: unknown, { signal }: DeliveryContext) => {
        signal.addEventListener("abort", () => record("abort", (signal.reason as Error).message));
        return call("handler");
      },
    },
    onParked: behaves.onParked && (() => call("onParked")),
    onHandlerError: (error) => record("onHandlerError", (error as Error).message),
    onInternalError: () => record("onInternalError"),
    observe: ({ phase, code }) => record("report", phase, code),
    log: () => {},
  } satisfies ReceiverOptions<EventSchemas>;

  const waitUntil = (work: Promise<unknown>) => {
    record("waitUntil");
    const index = works.push(undefined) - 1;
    void work.then(() => (works[index] = elapsed()));
  };
  const delivery = { ...rest, body: () => call("body") };
  const callOptions = { waitUntil: behaves.hasWaitUntil ? waitUntil : undefined };
  return { options, delivery, callOptions, elapsed, recorded: { trace, thens, works } };
}

/** A thenable that settles twice, and whose `then` returns nothing. */
const thenable = (end: () => unknown, begin: (settle: () => void) => void) => ({
  // oxlint-disable-next-line unicorn/no-thenable
  then(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
    begin(() => {
      try {
        resolve(end());
        reject(new Error("second"));
      } catch (error) {
        reject(error);
        resolve("second");
      }
    });
  },
});
