import { secret, type TestDelivery } from "@svc-webhooks/kit/deliveries";
import { isPromise } from "../src/lib/maybe-promise.js";
import type { FakeClock } from "@svc-webhooks/testing";
import type { Identified, Inspection } from "../src/scheme.js";
import {
  BodyError,
  PermanentError,
  RetryError,
  WebhookError,
  type ClaimRequest,
  type ClaimResult,
  type CompleteResult,
  type DeadlineCall,
  type DeliveryContext,
  type DeliveryReport,
  type DeliveryStore,
  type HandlerResult,
  type MaybePromise,
  type ReleaseRequest,
  type ResumeOptions,
  type Scheme,
  type Secrets,
  type StandardSchemaResult,
} from "../src/index.js";
import { slowMs, type DriverCase, type Play } from "./driver-case.js";

export type User = ReturnType<typeof userOf>;

/** The code of a user who behaves as the case says. It records each call, with its time. */
export function userOf(given: DriverCase, clock: FakeClock, { body: bytes }: TestDelivery) {
  const startedAt = clock.now();
  const trace: string[] = [];
  /** The times at which the promises that `waitUntil` received have settled, or undefined if they are pending. */
  const works: (number | undefined)[] = [];
  const elapsed = () => clock.now() - startedAt;
  const record = (...parts: readonly unknown[]) =>
    void trace.push([elapsed(), ...parts.map((part) => JSON.stringify(part))].join(" "));

  const thenCalls: number[] = [];
  const perform = performer(clock, () => thenCalls.push(elapsed()));
  const hookOf = (name: string, ends: "returns" | "throws") => (error: unknown) => {
    record(name, messageOf(error));
    if (ends === "throws") throw new Error(`${name} fails`);
  };

  return {
    trace,
    works,
    /** The times at which `then` of a thenable was called. */
    thenCalls,
    body: (_limit: number, call: DeadlineCall): MaybePromise<Uint8Array> => {
      record("body");
      watch(call, () => record("body aborted"));
      return perform(given.body ?? now("bytes"), {
        bytes: () => bytes,
        aborted: throwing(new BodyError("aborted")),
        fails: throwing(new Error("no body")),
      });
    },
    secret: (): MaybePromise<Secrets> => {
      record("secret");
      return perform<Secrets>(given.secret ?? now("right"), {
        right: () => secret,
        wrong: () => "whsec_other",
        second: () => [
          { id: "new", key: "whsec_other" },
          { id: "old", key: secret },
        ],
        fails: throwing(new Error("no secret")),
      });
    },
    scheme: given.scheme && schemeOf(given.scheme, perform, record),
    store: storeOf(given, perform, record),
    validate: (event: unknown): MaybePromise<StandardSchemaResult<unknown>> => {
      record("schema");
      return perform<StandardSchemaResult<unknown>>(
        unblocked(given.schema ?? now("accepts"), given),
        {
          accepts: () => ({ value: event }),
          rejects: () => ({ issues: [{ message: "wrong", path: ["type"] }] }),
          fails: throwing(new Error("no schema")),
        },
      );
    },
    around: given.around && aroundOf(given.around, perform, record),
    handler: (event: unknown, context: DeliveryContext): HandlerResult => {
      record("handler", event, viewOf(context));
      const { signal } = context;
      signal.addEventListener("abort", () => record("signal", codeIn(signal.reason)));
      return perform<HandlerResult>(unblocked(given.handler, given), {
        returns: () => "done",
        throws: throwing(new Error("no")),
        retry: throwing(new RetryError({ retryAfterMs: 7_000 })),
        permanent: throwing(new PermanentError("never")),
        iterator: () => ({ next: () => ({}) }) as never,
      });
    },
    onParked: given.onParked && {
      call: (error: unknown, context: DeliveryContext): unknown => {
        record("onParked", messageOf(error), viewOf(context));
        return perform(given.onParked ?? now("returns"), {
          returns: () => undefined,
          throws: throwing(new Error("not parked")),
        });
      },
    },
    onError: given.resume?.onError && hookOf("onError", given.resume.onError),
    onHandlerError: hookOf("onHandlerError", given.onHandlerError),
    onInternalError: hookOf("onInternalError", "returns"),
    waitUntil:
      given.waitUntil &&
      ((work: Promise<unknown>) => {
        record("waitUntil");
        const index = works.push(undefined) - 1;
        void work.then(() => (works[index] = elapsed()));
        if (given.waitUntil === "throws") throw new Error("no waitUntil");
      }),
    observe:
      given.observe &&
      ((report: Partial<DeliveryReport>) => {
        const facts = Object.entries(report).filter(([name]) => !name.endsWith("Ms"));
        record(
          "report",
          Object.fromEntries(facts.toSorted(([a], [b]) => (a < b ? -1 : 1))),
          report.retryAfterMs,
        );
        if (given.observe === "throws") throw new Error("no observe");
      }),
  };
}

type Ways<T> = Readonly<Record<string, () => T>>;
type Perform = ReturnType<typeof performer>;
type Note = (...parts: readonly unknown[]) => void;

const now = <End extends string>(ends: End): Play<End> => ({ ends, when: "now" });

/**
 * Does not block the event loop if timers of the lease may be overdue afterwards: the model has several of them, and the
 * receiver one, which does not fire in the same order.
 */
const unblocked = <End extends string>(
  { ends, when }: Play<End>,
  given: DriverCase,
): Play<End> => ({
  ends,
  when: when === "blocks" && (given.around || (given.schema && given.onParked)) ? "now" : when,
});

const throwing = (error: unknown) => (): never => {
  throw error;
};

const messageOf = (error: unknown) => (error as Error | undefined)?.message;
const codeIn = (reason: unknown) => (reason as { readonly code?: string } | undefined)?.code;

const viewOf = ({ run, fence, dedupe, idempotencyKey, warnings, signal }: DeliveryContext) => ({
  run,
  fence,
  dedupe,
  idempotencyKey,
  warnings,
  reason: codeIn(signal.reason),
});

const watch = (call: DeadlineCall, aborted: () => void) =>
  call.signal.addEventListener("abort", aborted);

/** Returns a function that ends a call in one of several ways, at the time that its play states. */
function performer(clock: FakeClock, onThen: () => void) {
  return <T>({ ends, when }: Play, ways: Ways<T>): MaybePromise<T> => {
    const end = ways[ends] as () => T;
    if (when === "blocks") clock.jump(31_003);
    if (when === "now" || when === "blocks") return end();
    if (when === "thenable" || when === "slow" || when === "twice") {
      const later = when === "slow" && ((settle: () => void) => void clock.after(slowMs, settle));
      return thenable(end, when === "twice", later || ((settle) => settle()), onThen) as Promise<T>;
    }
    return new Promise<T>((resolve) => {
      const settle = () => resolve(new Promise((settled) => settled(end())));
      if (when === "resolved") settle();
      else if (when !== "never") clock.after(when, settle);
    });
  };
}

/** A thenable whose `then` returns nothing. */
const thenable = <T>(
  end: () => T,
  isTwice: boolean,
  later: (settle: () => void) => void,
  onThen: () => void,
) => ({
  // oxlint-disable-next-line unicorn/no-thenable
  then(resolve: (value: T) => void, reject: (error: unknown) => void): void {
    onThen();
    later(() => {
      try {
        resolve(end());
        if (isTwice) reject(new Error("second"));
      } catch (error) {
        reject(error);
        if (isTwice) resolve("second" as T);
      }
    });
  },
});

function schemeOf(
  { inspect, verify, identify, id }: NonNullable<DriverCase["scheme"]>,
  perform: Perform,
  record: Note,
): Scheme {
  return {
    name: "test",
    headers: ["x-test-signature"],
    form: "text",
    inspect: () => {
      record("inspect");
      // A scheme of another package may return promises, although the types forbid that.
      return perform<Inspection<string>>(inspect, {
        claim: () => ({ claim: "claim" }),
        problem: () => ({ problem: "signature_missing" as const }),
        fails: throwing(new Error("no inspect")),
      }) as Inspection<string>;
    },
    importKey: () => ({
      verify: () => {
        record("verify");
        return perform(verify, {
          yes: () => true,
          no: () => false,
          fails: throwing(new Error("no verify")),
        });
      },
    }),
    identify: ({ claim }) => {
      record("identify", claim);
      const reply = { body: "replaced" };
      return perform<Identified>(identify, {
        id: () => ({
          reply,
          deliveryId: perform<string | undefined>(id, {
            id: () => "dlv_scheme",
            none: () => undefined,
            fails: throwing(new Error("no id")),
          }) as string,
        }),
        handshake: () => ({ reply, code: "handshake" as const }),
        fails: throwing(new Error("no identify")),
      });
    },
  };
}

type Operation<T> = (
  key: string,
  request: Partial<ReleaseRequest> & ClaimRequest,
  call: DeadlineCall,
) => MaybePromise<T>;

function storeOf(given: DriverCase, perform: Perform, record: Note): DeliveryStore {
  const tokens: string[] = [];
  const counts: Record<string, number> = {};
  const fails = throwing(new Error("no store"));
  const notSent = throwing(new WebhookError("not_sent", "not sent"));

  const operation =
    <T>(name: string, plays: readonly Play[], ways: Ways<T>): Operation<T> =>
    (key, request, call) => {
      if (!tokens.includes(request.token)) tokens.push(request.token);
      record(name, key, { ...request, token: tokens.indexOf(request.token) });
      watch(call, () => record(`${name} aborted`));
      if (given.isUnsent) call.unsent = new WebhookError("not_sent", `${name} not sent`);
      const count = (counts[name] ?? -1) + 1;
      counts[name] = count;
      return perform(plays[Math.min(count, plays.length - 1)] as Play, {
        ...ways,
        fails,
        not_sent: notSent,
      });
    };

  return {
    shared: false,
    claim: operation<ClaimResult>("claim", [given.claim], {
      claimed: () => ({ status: "claimed", run: 1, fence: 10 }),
      again: () => ({
        status: "claimed",
        run: 3,
        fence: 30,
        takenOver: true,
        evictedEarly: true,
      }),
      busy: () => ({ status: "busy", leaseLeftMs: 1_234 }),
      done: () => ({ status: "done" }),
      parked: () => ({ status: "parked", lineage: "another" }),
      junk: () => undefined as never,
      trap: () => ({
        get status() {
          return throwing(new Error("no status"))();
        },
      }),
    }),
    complete: operation<CompleteResult>("complete", given.complete, {
      owner: () => "owner",
      refused: throwing(new WebhookError("handler_failed", "refused")),
    }),
    release: operation<boolean>("release", given.release, { true: () => true, false: () => false }),
    extend: operation<boolean>("extend", given.extend, { true: () => true, false: () => false }),
    forget: () => false,
  };
}

function aroundOf(play: Play, perform: Perform, record: Note) {
  const after = (end: () => unknown = () => undefined) =>
    perform({ ...play, ends: "end" }, { end });
  const ways: Readonly<Record<string, (run: () => unknown) => unknown>> = {
    passes: (run) => run(),
    again: (run) => [run(), run()][1],
    forgets: (run) => {
      const result = run();
      if (isPromise(result)) record("around forgets");
      return after();
    },
    waits: async (run) => {
      await run();
      return after();
    },
    skips: () => after(),
    fails: () => after(throwing(new Error("no around"))),
    failsAfter: (run) => {
      run();
      return after(throwing(new Error("no around after")));
    },
  };
  return (run: () => unknown, context: DeliveryContext): unknown => {
    record("around", viewOf(context));
    return ways[play.ends]?.(run);
  };
}

/** The options of a receiver with this user's code. */
export const receiverOptions = (user: User, given: DriverCase, clock: FakeClock) => ({
  name: "test",
  clock,
  secret: given.secret ? user.secret : secret,
  scheme: user.scheme,
  store: user.store,
  ...timesOf(given),
  events: given.schema && {
    "email.sent": {
      "~standard": { version: 1 as const, vendor: "test", validate: user.validate },
    },
  },
  around: user.around,
  on: { "*": user.handler },
  onParked: user.onParked?.call,
  maxRuns: mostRuns(given),
  dedupeBy: given.dedupeBy,
  onStoreError: given.onStoreError,
  onHandlerError: user.onHandlerError,
  onInternalError: user.onInternalError,
  observe: user.observe,
  log: () => {},
});

export const timesOf = ({ handlerTimeoutMs }: DriverCase) => ({
  handlerTimeoutMs,
  leaseMs: 30_000,
  maxRunMs: 30_000,
});

/** The option needs `onParked`. */
export const mostRuns = ({ hasMaxRuns, onParked }: DriverCase) =>
  hasMaxRuns && onParked ? 2 : undefined;

/** The options of `receive` or `resume`. */
export const callOptions = (user: User, { resume }: DriverCase, key: string): ResumeOptions => ({
  waitUntil: user.waitUntil,
  ...(resume && {
    onError: user.onError,
    isLast: resume.isLast,
    giveUp: resume.giveUp,
    key: { none: undefined, same: key, other: "other" }[resume.key],
  }),
});
