import {
  memoryStore,
  type ClaimRequest,
  type ClaimResult,
  type CompleteResult,
  type DeliveryStore,
  type ReleaseRequest,
} from "@svc-webhooks/core";
import { fakeClock, type FakeClock, type StoreUnderTest } from "@svc-webhooks/testing";
import { call } from "../support/receivers.js";

export interface BrokenStore {
  /** Of a store that … */
  readonly mistake: string;
  /** Of the list of traps. */
  readonly trap: number | undefined;
  readonly make: () => StoreUnderTest;
}

type LastClaim = ClaimRequest & Extract<ClaimResult, { status: "claimed" }>;

/** The memory store as mistakes are made with it: answers at once, and shows the last claim of each key. */
function rightStore(clock: FakeClock) {
  const store = memoryStore({ clock });
  const claims = new Map<string, LastClaim>();
  return {
    shared: false,
    now: () => clock.now(),
    claim: (key: string, request: ClaimRequest): ClaimResult => {
      // The memory store answers at once.
      const result = store.claim(key, request, call) as ClaimResult;
      if (result.status === "claimed") claims.set(key, { ...request, ...result });
      return result;
    },
    complete: (key: string, request: ClaimRequest) =>
      store.complete(key, request, call) as CompleteResult,
    release: (key: string, request: ReleaseRequest) => store.release(key, request, call) as boolean,
    extend: (key: string, request: ClaimRequest) => store.extend(key, request, call) as boolean,
    forget: (key: string) => store.forget(key, call) as boolean,
    lastClaim: (key: string) => claims.get(key),
    /** Forgets a record whose lease is alive, too. */
    drop: (key: string) => {
      const last = claims.get(key);
      if (last) void store.release(key, { ...last, to: "failed" }, call);
      return store.forget(key, call) as boolean;
    },
    /** All that were ever claimed. */
    keys: () => claims.keys(),
  };
}

type RightStore = ReturnType<typeof rightStore>;
type Mistake = (right: RightStore) => Partial<DeliveryStore>;

const broken = (mistake: string, make: Mistake, trap?: number): BrokenStore => ({
  mistake,
  trap,
  make() {
    const clock = fakeClock();
    const right = rightStore(clock);
    return { store: { ...right, ...make(right) }, advance: clock.jump, exactClock: true };
  },
});

/** Everybody is taken for the one who claimed last. */
const asOwner = <Request extends ClaimRequest>(
  { lastClaim }: RightStore,
  key: string,
  request: Request,
): Request => ({ ...request, token: lastClaim(key)?.token ?? request.token });

/** Changes what the store is told. */
const told = (change: (text: string) => string): Mistake => {
  const changed = <Request extends ClaimRequest>(request: Request): Request => ({
    ...request,
    token: change(request.token),
    lineage: request.lineage && change(request.lineage),
  });
  return ({ claim, complete, release, extend, forget }) => ({
    claim: (key, request) => claim(change(key), changed(request)),
    complete: (key, request) => complete(change(key), changed(request)),
    release: (key, request) => release(change(key), changed(request)),
    extend: (key, request) => extend(change(key), changed(request)),
    forget: (key) => forget(change(key)),
  });
};

interface Moment {
  readonly now: number;
  /** When the record expires if nothing changes that. */
  readonly until: number;
  readonly request: ClaimRequest;
}

const never = () => Infinity;
const asBefore = ({ until }: Moment) => until;
const afterRetention = ({ now, request }: Moment) => now + request.retainMs;
const withLease = ({ now, request }: Moment) => now + request.leaseMs;

/** When a record expires after each kind of call. */
const rightTimes = {
  taken: afterRetention,
  takenOver: afterRetention,
  unchanged: asBefore,
  released: afterRetention,
  completed: afterRetention,
  extended: (moment: Moment) => Math.max(asBefore(moment), withLease(moment)),
};

/** Keeps records for other times than it should. */
const keeping =
  (mistake: Partial<typeof rightTimes>): Mistake =>
  ({ now, lastClaim, drop, ...right }) => {
    const rules = { ...rightTimes, ...mistake };
    const times = new Map<string, number>();
    const expired = (key: string) => (times.get(key) ?? Infinity) <= now();
    const after =
      <Request extends ClaimRequest, Answer>(
        perform: (key: string, request: Request) => Answer,
        kindOf: (answer: Answer, key: string, fence: number | undefined) => keyof typeof rules,
      ) =>
      (key: string, request: Request) => {
        if (expired(key)) {
          times.delete(key);
          drop(key);
        }
        const fence = times.has(key) ? lastClaim(key)?.fence : undefined;
        const answer = perform(key, { ...request, retainMs: 10 ** 12 });
        const kind = kindOf(answer, key, fence);
        times.set(key, rules[kind]({ now: now(), until: times.get(key) ?? Infinity, request }));
        return answer;
      };
    return {
      claim: after(right.claim, (result, _key, fence) => {
        if (result.status !== "claimed" || result.fence === fence) return "unchanged";
        return fence ? "takenOver" : "taken";
      }),
      complete: after(right.complete, () => "completed"),
      release: after(right.release, (done) => (done ? "released" : "unchanged")),
      extend: after(right.extend, (done) => (done ? "extended" : "unchanged")),
      forget: (key) => (expired(key) ? drop(key) && false : right.forget(key)),
    };
  };

/** Claims something else where more is left of a lease than a claim may leave; `last` has what is left. */
const onProlonged =
  (
    claim: (right: RightStore, key: string, request: ClaimRequest, last: LastClaim) => ClaimResult,
  ): Mistake =>
  (right) => {
    const ends = new Map<string, number>();
    return {
      claim(key, request) {
        const last = right.lastClaim(key);
        const leftMs = (ends.get(key) ?? 0) - right.now();
        if (last && leftMs > request.leaseMs) {
          return claim(right, key, request, { ...last, leaseMs: leftMs });
        }
        const result = right.claim(key, request);
        if (result.status === "claimed") ends.set(key, right.now() + request.leaseMs);
        return result;
      },
      extend(key, request) {
        const isRenewed = right.extend(key, request);
        if (isRenewed) ends.set(key, right.now() + request.leaseMs);
        return isRenewed;
      },
    };
  };

/** Whoever calls while another call is under way acts on what that one has seen, and gets its answer. */
function stale<Given extends readonly unknown[], Answer>(
  perform: (key: string, ...given: Given) => Answer,
): (key: string, ...given: Given) => Promise<Answer> {
  const underWay = new Map<string, Promise<Answer>>();
  return (key, ...given) => {
    const seen = underWay.get(key);
    if (seen) return seen;
    const answer = Promise.resolve().then(() => perform(key, ...given));
    underWay.set(key, answer);
    return answer.finally(() => underWay.delete(key));
  };
}

export const brokenStores: readonly BrokenStore[] = [
  broken(
    "gives claims no lease",
    ({ claim }) => ({
      claim: (key, request) => claim(key, { ...request, leaseMs: request.retainMs }),
    }),
    26,
  ),
  broken(
    "loses the retention when it updates a record",
    keeping({ released: never, completed: never, takenOver: never }),
    26,
  ),
  broken(
    "remembers a failure as done",
    ({ release, complete }) => ({
      release: (key, request) =>
        request.to === "failed" ? complete(key, request) === "owner" : release(key, request),
    }),
    28,
  ),
  broken(
    "lets a former owner release the new owner's claim",
    (right) => ({
      release: (key, request) => right.release(key, asOwner(right, key, request)),
    }),
    29,
  ),
  broken(
    "lets a former owner extend the new owner's lease",
    (right) => ({ extend: (key, request) => right.extend(key, asOwner(right, key, request)) }),
    29,
  ),
  broken(
    "is busy with a claim that is sent again",
    ({ claim, lastClaim }) => ({
      claim(key, request) {
        const last = lastClaim(key);
        const result = claim(key, request);
        if (result.status !== "claimed" || result.fence !== last?.fence) return result;
        return claim(key, { ...request, token: "nobody's" });
      },
    }),
    33,
  ),
  broken(
    "counts a claim that is sent again as another run",
    ({ claim, lastClaim, release }) => ({
      claim(key, request) {
        const last = lastClaim(key);
        const result = claim(key, request);
        if (result.status !== "claimed" || result.fence !== last?.fence) return result;
        release(key, { ...request, to: "failed" });
        return claim(key, request);
      },
    }),
    33,
  ),
  broken(
    "counts its fences from one, and anew when a record was lost",
    ({ claim }) => ({
      claim(key, request) {
        const result = claim(key, request);
        return result.status === "claimed" ? { ...result, fence: result.run } : result;
      },
    }),
    35,
  ),
  broken("takes its fences from the clock alone", ({ claim, now }) => ({
    claim(key, request) {
      const result = claim(key, request);
      return result.status === "claimed" ? { ...result, fence: now() } : result;
    },
  })),
  broken(
    "does not keep what is completed late",
    ({ complete, lastClaim }) => ({
      complete(key, request) {
        const isOwners = (lastClaim(key)?.token ?? request.token) === request.token;
        return isOwners ? complete(key, request) : "late";
      },
    }),
    34,
  ),
  broken(
    "does not restore a record that was lost",
    ({ complete, forget }) => ({
      complete(key, request) {
        const result = complete(key, request);
        if (result === "restored") forget(key);
        return result;
      },
    }),
    35,
  ),
  broken("lets a release overwrite whatever is there", ({ claim, release, forget }) => ({
    release(key, request) {
      if (release(key, request)) return true;
      forget(key);
      claim(key, request);
      return release(key, request);
    },
  })),
  broken("makes a record of an extension", ({ claim, extend, forget }) => ({
    extend(key, request) {
      if (extend(key, request)) return true;
      forget(key);
      return claim(key, request).status === "claimed";
    },
  })),
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
    "counts a run that was given back unused",
    ({ release }) => ({
      release: (key, request) =>
        release(key, { ...request, to: request.to === "unused" ? "failed" : request.to }),
    }),
    46,
  ),
  broken("does not keep what is parked", ({ release }) => ({
    release: (key, request) => release(key, { ...request, to: "failed" }),
  })),
  {
    mistake: "judges leases by its caller's clock",
    trap: undefined,
    make: () => ({ store: memoryStore(), advance() {} }),
  },
  broken("has the same lease for all", ({ claim, extend }) => ({
    claim: (key, request) => claim(key, { ...request, leaseMs: 30_000 }),
    extend: (key, request) => extend(key, { ...request, leaseMs: 30_000 }),
  })),
  broken(
    "keeps a lease that a clock set back has prolonged",
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
    "gives away a lease that a clock set back has prolonged",
    onProlonged(({ claim, release }, key, request, last) => {
      release(key, { ...last, to: "failed" });
      return claim(key, request);
    }),
  ),
  broken("tells what is left of a lease in seconds", ({ claim }) => ({
    claim(key, request) {
      const result = claim(key, request);
      if (result.status !== "busy") return result;
      return { ...result, leaseLeftMs: Math.ceil(result.leaseLeftMs / 1_000) };
    },
  })),
  broken(
    "keeps records for ever",
    keeping({ taken: never, takenOver: never, released: never, completed: never }),
    32,
  ),
  broken(
    "sets the retention with the first claim only",
    keeping({ takenOver: asBefore, released: asBefore, completed: asBefore }),
    31,
  ),
  broken("prolongs the retention with every call", keeping({ unchanged: afterRetention })),
  broken("shortens the retention to an extended lease", keeping({ extended: withLease }), 26),
  broken("prolongs the retention with an extension", keeping({ extended: afterRetention })),
  broken("lets a record expire under an extended lease", keeping({ extended: asBefore })),
  broken("forgets nothing, and says it has", () => ({ forget: () => true })),
  broken("forgets a record under a live lease", ({ drop }) => ({ forget: drop }), 32),
  broken("takes no parked record that is to run again", ({ claim }) => ({
    claim: (key, request) => claim(key, { ...request, takeParked: false }),
  })),
  broken("takes a parked record for every claim", ({ claim }) => ({
    claim: (key, request) => claim(key, { ...request, takeParked: true }),
  })),
  broken("goes on counting the runs of a parked record", ({ claim, lastClaim }) => ({
    claim(key, request) {
      const before = lastClaim(key)?.run ?? 0;
      const result = claim(key, request);
      return request.takeParked && result.status === "claimed"
        ? { ...result, run: before + 1 }
        : result;
    },
  })),
  broken("does not tell whose attempt it was", ({ claim }) => ({
    claim(key, request) {
      const result = claim(key, request);
      return "lineage" in result ? { status: result.status } : result;
    },
  })),
  broken("tells an empty lineage where there was none", ({ claim }) => ({
    claim(key, request) {
      const result = claim(key, request);
      return "lineage" in result ? { ...result, lineage: result.lineage ?? "" } : result;
    },
  })),
  broken("looks at a record, and writes it later", (right) => ({
    claim: stale(right.claim),
    complete: stale(right.complete),
    release: stale(right.release),
    forget: stale(right.forget),
  })),
  broken("has one lock for all keys, and waits for none", ({ claim }) => {
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
  broken("ends all claims of a token with one of them", ({ keys, release }) => ({
    release: (key, request) => [key, ...keys()].map((each) => release(each, request)).some(Boolean),
  })),
  broken(
    "does not tell upper case from lower",
    told((text) => text.toLowerCase()),
  ),
  broken(
    "cuts texts at a NUL",
    told((text) => text.split("\0", 1).join("")),
  ),
  broken("does not say what it is", () => ({
    shared: undefined as never,
    check: () => "all is well" as never,
  })),
];
