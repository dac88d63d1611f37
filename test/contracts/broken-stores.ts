import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import {
  memoryStore,
  WebhookError,
  type ClaimRequest,
  type ClaimResult,
  type CompleteResult,
  type DeliveryStore,
  type RecordState,
  type ReleaseRequest,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import type { StoreUnderTest } from "@svc-webhooks/testing/store";
import { call } from "@svc-webhooks/kit/receivers";
import { storeThrough } from "@svc-webhooks/kit/store-through";

export interface BrokenStore {
  /** The mistake, as the end of "a store that …". */
  readonly mistake: string;
  readonly make: () => StoreUnderTest;
  /** Silences the connection of the store that was made last. */
  readonly abandon?: () => void;
}

type LastClaim = ClaimRequest & Extract<ClaimResult, { status: "claimed" }>;

/**
 * Returns the memory store as a base for broken stores: its calls are synchronous, and it records the last claim on
 * each key.
 */
function correctStore(clock: FakeClock) {
  const store = memoryStore({ clock });
  const claims = new Map<string, LastClaim>();
  return {
    shared: false,
    now: () => clock.now(),
    claim: (key: string, request: ClaimRequest): ClaimResult => {
      // The memory store is synchronous.
      const result = store.claim(key, request, call) as ClaimResult;
      if (result.status === "claimed") claims.set(key, { ...request, ...result });
      return result;
    },
    complete: (key: string, request: ClaimRequest) =>
      store.complete(key, request, call) as CompleteResult,
    release: (key: string, request: ReleaseRequest) => store.release(key, request, call) as boolean,
    extend: (key: string, request: ClaimRequest) => store.extend(key, request, call) as boolean,
    forget: (key: string) => store.forget(key, call) as boolean,
    peek: (keys: readonly string[]) => store.peek?.(keys, call) as (RecordState | undefined)[],
    lastClaim: (key: string) => claims.get(key),
    /** Forgets a record even if its lease has not expired. */
    drop: (key: string) => {
      const last = claims.get(key);
      if (last) void store.release(key, { ...last, to: "failed" }, call);
      return store.forget(key, call) as boolean;
    },
    /** Returns all keys that were ever claimed. */
    keys: () => claims.keys(),
  };
}

/**
 * Returns the memory store over a connection. While the connection is silent, calls are executed but get no reply. The
 * store awaits `pause`, reports the call as not sent and opens another connection.
 */
function reportingAsNotSent(
  when: string,
  pause: (signal: AbortSignal) => Promise<unknown>,
): BrokenStore {
  let isDead = false;
  return {
    mistake: `reports an executed call as not sent ${when}`,
    abandon: () => void (isDead = true),
    make() {
      isDead = false;
      const clock = fakeClock();
      const store = storeThrough(memoryStore({ clock }), async (send, { signal }) => {
        if (!isDead) return send();
        await send();
        await pause(signal);
        isDead = false;
        throw new WebhookError("not_sent", "There is no connection.");
      });
      return { store, advance: clock.jump, exactClock: true };
    },
  };
}

type CorrectStore = ReturnType<typeof correctStore>;
type Mistake = (correct: CorrectStore) => Partial<DeliveryStore>;

const broken = (mistake: string, make: Mistake): BrokenStore => ({
  mistake,
  make() {
    const clock = fakeClock();
    const correct = correctStore(clock);
    return { store: { ...correct, ...make(correct) }, advance: clock.jump, exactClock: true };
  },
});

interface Claiming {
  readonly key: string;
  readonly request: ClaimRequest;
  /** The last successful claim on the key before this one. */
  readonly last: LastClaim | undefined;
  readonly correct: CorrectStore;
}

/** Returns a mistake that changes the results of claims. */
const claiming =
  (change: (result: ClaimResult, claiming: Claiming) => ClaimResult): Mistake =>
  (correct) => ({
    claim(key, request) {
      const last = correct.lastClaim(key);
      return change(correct.claim(key, request), { key, request, last, correct });
    },
  });

/** Returns a mistake that changes the results of successful claims. */
const succeeding = (
  change: (result: Extract<ClaimResult, { status: "claimed" }>, claiming: Claiming) => ClaimResult,
): Mistake =>
  claiming((result, given) => (result.status === "claimed" ? change(result, given) : result));

/** Returns a mistake that changes the requests of claims and extensions. */
const requesting =
  (change: (request: ClaimRequest) => ClaimRequest): Mistake =>
  ({ claim, extend }) => ({
    claim: (key, request) => claim(key, change(request)),
    extend: (key, request) => extend(key, change(request)),
  });

/** Returns a mistake that changes the requests of releases. */
const releasing =
  (change: (request: ReleaseRequest) => ReleaseRequest): Mistake =>
  ({ release }) => ({ release: (key, request) => release(key, change(request)) });

/** Returns the request with the last claimant's token, so that every caller counts as the owner. */
const asOwner = <Request extends ClaimRequest>(
  { lastClaim }: CorrectStore,
  key: string,
  request: Request,
): Request => ({ ...request, token: lastClaim(key)?.token ?? request.token });

/** Returns a mistake that changes the strings passed to the store. */
const changing = (change: (text: string) => string): Mistake => {
  const changed = <Request extends ClaimRequest>(request: Request): Request => ({
    ...request,
    token: change(request.token),
    lineage: request.lineage && change(request.lineage),
  });
  return ({ claim, complete, release, extend, forget, peek }) => ({
    claim: (key, request) => claim(change(key), changed(request)),
    complete: (key, request) => complete(change(key), changed(request)),
    release: (key, request) => release(change(key), changed(request)),
    extend: (key, request) => extend(change(key), changed(request)),
    forget: (key) => forget(change(key)),
    peek: (keys) => peek(keys.map(change)),
  });
};

/** Returns a mistake that changes what a peek returns. */
const peeking =
  (
    change: (
      states: readonly (RecordState | undefined)[],
      correct: CorrectStore,
      keys: readonly string[],
    ) => readonly (RecordState | undefined)[],
  ): Mistake =>
  (correct) => ({ peek: (keys) => change(correct.peek(keys), correct, keys) });

/** Returns a mistake that changes the records that a peek reads, after it has read them. */
const changingPeeked = (change: (key: string, correct: CorrectStore) => unknown): Mistake =>
  peeking((states, correct, keys) => {
    for (const key of keys) change(key, correct);
    return states;
  });

interface Moment {
  readonly now: number;
  /** The record's expiry before the call. */
  readonly until: number;
  readonly request: ClaimRequest;
}

const never = () => Infinity;
const asBefore = ({ until }: Moment) => until;
const afterRetention = ({ now, request }: Moment) => now + request.retainMs;
const withLease = ({ now, request }: Moment) => now + request.leaseMs;

/** The correct expiry of a record after each kind of call. */
const correctTimes = {
  taken: afterRetention,
  takenOver: afterRetention,
  unchanged: asBefore,
  released: afterRetention,
  completed: afterRetention,
  extended: (moment: Moment) => Math.max(asBefore(moment), withLease(moment)),
};

/** Returns a mistake that makes records expire at the wrong time. */
const keeping =
  (mistake: Partial<typeof correctTimes>): Mistake =>
  ({ now, lastClaim, drop, ...correct }) => {
    const rules = { ...correctTimes, ...mistake };
    const times = new Map<string, number>();
    const expired = (key: string) => (times.get(key) ?? Infinity) <= now();
    const after =
      <Request extends ClaimRequest, Result>(
        perform: (key: string, request: Request) => Result,
        kindOf: (result: Result, key: string, fence: number | undefined) => keyof typeof rules,
      ) =>
      (key: string, request: Request) => {
        if (expired(key)) {
          times.delete(key);
          drop(key);
        }
        const fence = times.has(key) ? lastClaim(key)?.fence : undefined;
        const result = perform(key, { ...request, retainMs: 10 ** 12 });
        const kind = kindOf(result, key, fence);
        times.set(key, rules[kind]({ now: now(), until: times.get(key) ?? Infinity, request }));
        return result;
      };
    return {
      claim: after(correct.claim, (result, _key, fence) => {
        if (result.status !== "claimed" || result.fence === fence) return "unchanged";
        return fence ? "takenOver" : "taken";
      }),
      complete: after(correct.complete, () => "completed"),
      release: after(correct.release, (done) => (done ? "released" : "unchanged")),
      extend: after(correct.extend, (done) => (done ? "extended" : "unchanged")),
      forget: (key) => (expired(key) ? drop(key) && false : correct.forget(key)),
    };
  };

/**
 * Returns a mistake in claims on a lease that has more time left than the claim's own `leaseMs`. `last.leaseMs` is the
 * time left.
 */
const onProlonged =
  (
    claim: (
      correct: CorrectStore,
      key: string,
      request: ClaimRequest,
      last: LastClaim,
    ) => ClaimResult,
  ): Mistake =>
  (correct) => {
    const ends = new Map<string, number>();
    return {
      claim(key, request) {
        const last = correct.lastClaim(key);
        const leftMs = (ends.get(key) ?? 0) - correct.now();
        if (last && leftMs > request.leaseMs) {
          return claim(correct, key, request, { ...last, leaseMs: leftMs });
        }
        const result = correct.claim(key, request);
        if (result.status === "claimed") ends.set(key, correct.now() + request.leaseMs);
        return result;
      },
      extend(key, request) {
        const isRenewed = correct.extend(key, request);
        if (isRenewed) ends.set(key, correct.now() + request.leaseMs);
        return isRenewed;
      },
    };
  };

/**
 * Wraps an operation so that a call on a key that arrives during another one acts on the state that the other has read,
 * and returns the other's result.
 */
function stale<Given extends readonly unknown[], Result>(
  perform: (key: string, ...given: Given) => Result,
): (key: string, ...given: Given) => Promise<Result> {
  const pending = new Map<string, Promise<Result>>();
  return (key, ...given) => {
    const earlier = pending.get(key);
    if (earlier) return earlier;
    const result = Promise.resolve().then(() => perform(key, ...given));
    pending.set(key, result);
    return result.finally(() => pending.delete(key));
  };
}

export const brokenStores: readonly BrokenStore[] = [
  broken("gives claims no lease", ({ claim }) => ({
    claim: (key, request) => claim(key, { ...request, leaseMs: request.retainMs }),
  })),
  broken(
    "loses the retention when it updates a record",
    keeping({ released: never, completed: never, takenOver: never }),
  ),
  broken("records a failure as done", ({ release, complete }) => ({
    release: (key, request) =>
      request.to === "failed" ? complete(key, request) === "owner" : release(key, request),
  })),
  broken("lets a former owner release the new owner's claim", (correct) => ({
    release: (key, request) => correct.release(key, asOwner(correct, key, request)),
  })),
  broken("lets a former owner extend the new owner's lease", (correct) => ({
    extend: (key, request) => correct.extend(key, asOwner(correct, key, request)),
  })),
  broken(
    "reports a repeated claim as busy",
    succeeding((result, { key, request, last, correct }) =>
      result.fence === last?.fence ? correct.claim(key, { ...request, token: "another" }) : result,
    ),
  ),
  broken(
    "counts a repeated claim as another run",
    succeeding((result, { key, request, last, correct }) => {
      if (result.fence !== last?.fence) return result;
      correct.release(key, { ...request, to: "failed" });
      return correct.claim(key, request);
    }),
  ),
  broken(
    "counts fences from one and restarts them when a record is lost",
    succeeding((result) => ({ ...result, fence: result.run })),
  ),
  broken(
    "reports every second run as taken over",
    succeeding((result) => ({ ...result, takenOver: result.run > 1 })),
  ),
  broken(
    "reports no run as taken over",
    succeeding((result) => ({ ...result, takenOver: false })),
  ),
  broken(
    "takes fences only from the clock",
    succeeding((result, { correct }) => ({ ...result, fence: correct.now() })),
  ),
  broken("discards a late completion", ({ complete, lastClaim }) => ({
    complete(key, request) {
      const isOwners = (lastClaim(key)?.token ?? request.token) === request.token;
      return isOwners ? complete(key, request) : "late";
    },
  })),
  broken("does not restore a lost record", ({ complete, forget }) => ({
    complete(key, request) {
      const result = complete(key, request);
      if (result === "restored") forget(key);
      return result;
    },
  })),
  broken("lets a release overwrite any record", ({ claim, release, forget }) => ({
    release(key, request) {
      if (release(key, request)) return true;
      forget(key);
      claim(key, request);
      return release(key, request);
    },
  })),
  broken(
    "creates a record when it should extend a lease that does not exist",
    ({ claim, extend, forget }) => ({
      extend(key, request) {
        if (extend(key, request)) return true;
        forget(key);
        return claim(key, request).status === "claimed";
      },
    }),
  ),
  broken("does not extend a dead lease", ({ claim, extend, lastClaim, now }) => {
    const ends = new Map<string, number>();
    const begin = (key: string, { leaseMs }: ClaimRequest) => ends.set(key, now() + leaseMs);
    return {
      claim(key, request) {
        const last = lastClaim(key);
        const result = claim(key, request);
        if (result.status === "claimed" && result.fence !== last?.fence) begin(key, request);
        return result;
      },
      extend(key, request) {
        if (now() >= (ends.get(key) ?? 0) || !extend(key, request)) return false;
        begin(key, request);
        return true;
      },
    };
  }),
  broken(
    "counts a run that was released as unused",
    releasing((request) => (request.to === "unused" ? { ...request, to: "failed" } : request)),
  ),
  broken(
    "records a parked release as failed",
    releasing((request) => ({ ...request, to: "failed" })),
  ),
  {
    mistake: "measures leases by the caller's clock",
    make: () => ({ store: memoryStore(), advance() {} }),
  },
  broken(
    "gives every claim the same lease",
    requesting((request) => ({ ...request, leaseMs: 30_000 })),
  ),
  broken(
    "keeps a lease that a clock set back has lengthened",
    onProlonged(({ claim, extend }, key, request, last) => {
      const result = claim(key, request);
      extend(key, last);
      return result.status === "busy" ? { ...result, leaseLeftMs: last.leaseMs } : result;
    }),
  ),
  broken(
    "reports a shortened lease without shortening it",
    onProlonged(({ claim, extend }, key, request, last) => {
      const result = claim(key, request);
      extend(key, last);
      return result;
    }),
  ),
  broken(
    "ends a lease that a clock set back has lengthened",
    onProlonged(({ claim, release }, key, request, last) => {
      release(key, { ...last, to: "failed" });
      return claim(key, request);
    }),
  ),
  broken(
    "reports the time left of a lease in seconds",
    claiming((result) =>
      result.status === "busy"
        ? { ...result, leaseLeftMs: Math.ceil(result.leaseLeftMs / 1_000) }
        : result,
    ),
  ),
  broken(
    "keeps records forever",
    keeping({ taken: never, takenOver: never, released: never, completed: never }),
  ),
  broken(
    "sets the retention only on the first claim",
    keeping({ takenOver: asBefore, released: asBefore, completed: asBefore }),
  ),
  broken("prolongs the retention on every call", keeping({ unchanged: afterRetention })),
  broken("shortens the retention to an extended lease", keeping({ extended: withLease })),
  broken("prolongs the retention on an extension", keeping({ extended: afterRetention })),
  broken("lets a record expire under an extended lease", keeping({ extended: asBefore })),
  broken("forgets nothing but reports success", () => ({ forget: () => true })),
  broken("forgets a record under a live lease", ({ drop }) => ({ forget: drop })),
  broken(
    "ignores takeParked",
    requesting((request) => ({ ...request, takeParked: false })),
  ),
  broken(
    "lets every claim take a parked record",
    requesting((request) => ({ ...request, takeParked: true })),
  ),
  broken(
    "does not reset the runs of a parked record",
    succeeding((result, { request, last }) =>
      request.takeParked ? { ...result, run: (last?.run ?? 0) + 1 } : result,
    ),
  ),
  broken(
    "does not return the lineage",
    claiming((result) => ("lineage" in result ? { status: result.status } : result)),
  ),
  broken(
    "returns an empty lineage instead of none",
    claiming((result) =>
      "lineage" in result ? { ...result, lineage: result.lineage ?? "" } : result,
    ),
  ),
  broken("reads a record and writes it later", (correct) => ({
    claim: stale(correct.claim),
    complete: stale(correct.complete),
    release: stale(correct.release),
    forget: stale(correct.forget),
  })),
  broken("reports busy while another key is claimed", ({ claim }) => {
    let isLocked = false;
    return {
      async claim(key, request) {
        if (isLocked) return { status: "busy", leaseLeftMs: request.leaseMs };
        isLocked = true;
        await Promise.resolve();
        isLocked = false;
        return claim(key, request);
      },
    };
  }),
  broken("releases all claims of a token together", ({ keys, release }) => ({
    release: (key, request) => [key, ...keys()].map((each) => release(each, request)).some(Boolean),
  })),
  broken(
    "ignores the case of letters",
    changing((text) => text.toLowerCase()),
  ),
  broken(
    "truncates strings at a NUL",
    changing((text) => text.split("\0", 1).join("")),
  ),
  broken("reports a run whose lease has ended as running in a peek", (correct) => {
    const running = new Set<string>();
    return {
      claim(key, request) {
        const result = correct.claim(key, request);
        if (result.status === "claimed") running.add(key);
        return result;
      },
      release: (key, request) => running.delete(key) && correct.release(key, request),
      complete: (key, request) => (running.delete(key), correct.complete(key, request)),
      peek: (keys) =>
        correct.peek(keys).map((state, at) => {
          const isRunning = state === "failed" && running.has(String(keys[at]));
          return isRunning ? "running" : state;
        }),
    };
  }),
  broken("reports an expired record in a peek", (correct) => {
    const known = new Map<string, RecordState>();
    return {
      peek: (keys) =>
        correct.peek(keys).map((state, at) => {
          const key = String(keys[at]);
          if (state) known.set(key, state);
          return state ?? known.get(key);
        }),
    };
  }),
  broken(
    "returns the states of a peek without those of absent records",
    peeking((states) => states.filter(Boolean)),
  ),
  broken(
    "returns the states of a peek in an order of its own",
    peeking((states) => states.toSorted((one, next) => String(one).localeCompare(String(next)))),
  ),
  broken(
    "peeks at no more than 100 keys",
    peeking((states) => states.slice(0, 100)),
  ),
  broken(
    "returns one state for a peek at no keys",
    peeking((states) => (states.length > 0 ? states : [undefined])),
  ),
  broken(
    "forgets the records that it peeks at",
    changingPeeked((key, { drop }) => drop(key)),
  ),
  broken(
    "claims the records that it peeks at",
    changingPeeked((key, { claim }) =>
      claim(key, { token: "peek", leaseMs: 30_000, retainMs: 100_000 }),
    ),
  ),
  broken(
    "renews the lease of a record that it peeks at",
    changingPeeked((key, { extend, lastClaim }) => {
      const last = lastClaim(key);
      return last && extend(key, last);
    }),
  ),
  broken(
    "renews the retention of a record that it peeks at",
    changingPeeked((key, { claim, lastClaim, release }) => {
      const last = lastClaim(key);
      return last && release(key, { ...last, to: "unused" }) && claim(key, last);
    }),
  ),
  broken("omits shared and returns a string from check()", () => ({
    shared: undefined as never,
    check: () => "all is well" as never,
  })),
  reportingAsNotSent("before its deadline", () => setTimeout(100)),
  reportingAsNotSent("at its deadline", (signal) => once(signal, "abort")),
];
