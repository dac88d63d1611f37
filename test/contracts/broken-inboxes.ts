import type { Outcome, OutcomeCode } from "@svc-webhooks/core";
import {
  errorText,
  type InboxEntry,
  type InboxJob,
  type InboxQuery,
  type ReleaseOptions,
} from "@svc-webhooks/core/inbox";
import type { InboxContractOptions, MakeInbox } from "@svc-webhooks/testing/inbox";
import { simulatedInbox, type Mistake, type Server } from "./simulated-inbox.js";

export interface BrokenInbox {
  /** The mistake, as the end of "a queue that …". */
  readonly mistake: string;
  readonly make: MakeInbox;
  readonly options?: InboxContractOptions;
}

const broken = (
  mistake: string,
  parts: Mistake | (() => Mistake),
  options: InboxContractOptions = {},
): BrokenInbox => ({
  mistake,
  make: simulatedInbox(typeof parts === "function" ? parts : () => parts),
  options,
});

/** Returns a mistake that changes the jobs before they are stored. */
const storing = (change: (job: InboxJob) => InboxJob): Mistake => ({
  enqueue: (correct) => (job, call) => correct(change(job), call),
});

/** Returns a mistake in what happens to a copy of a job in one of these states. */
const copying = (
  states: readonly InboxEntry["state"][],
  copy: (server: Server, job: InboxJob) => unknown,
): Mistake => ({
  enqueue: (correct, server) => async (job, call) => {
    const entry = await server.memory.admin.get(job.key);
    await (entry && states.includes(entry.state) ? copy(server, job) : correct(job, call));
  },
});

const storesAgain = ({ memory }: Server, job: InboxJob) =>
  memory.add(job, { id: crypto.randomUUID() });

/** Returns a mistake that changes the outcomes of runs. */
const ending = (
  change: (outcome: Outcome) => { code?: OutcomeCode; retryAfterMs?: number } | undefined,
): Mistake => ({
  receiver: ({ resume }) => ({
    async resume(delivery, options = {}) {
      let problem: unknown;
      const onError = (error: unknown) => (problem = error);
      const outcome = await resume(delivery, { ...options, onError });
      const changed = change(outcome);
      // `runJob` looks at the code of the error too.
      if (problem !== undefined)
        options.onError?.(changed ? new Error(errorText(problem)) : problem);
      return { ...outcome, ...changed } as Outcome;
    },
  }),
});

const never = () => false;

const parked = { code: "parked" } as const;

/** Returns a mistake in what happens to a copy of a dead letter of an event with a key. */
const copyingOrdered = (copy: (server: Server, job: InboxJob) => unknown): Mistake => ({
  enqueue: (correct, server) => async (job, call) => {
    const entry = await server.memory.admin.get(job.key);
    const isCopied = entry?.state === "dead" && typeof call.event["group"] === "string";
    await (isCopied ? copy(server, job) : correct(job, call));
  },
});

/** Returns a mistake that makes another job for a copy of a letter with a key, and removes the letter after some runs. */
function discardingAfter(isRemoved: (outcome: Outcome) => boolean): Mistake {
  let known: Server | undefined;
  return {
    enqueue: (correct, server) => {
      known = server;
      return copyingOrdered(storesAgain).enqueue?.(correct, server, never, never) ?? correct;
    },
    receiver: ({ resume }) => ({
      async resume(delivery, options) {
        const outcome = await resume(delivery, options);
        if (isRemoved(outcome)) await known?.memory.admin.discard(options?.key ?? "", "");
        return outcome;
      },
    }),
  };
}

/** Returns a mistake that treats an outcome as a failure of the handler. */
const failingOn = (code: OutcomeCode): Mistake =>
  ending((outcome) => (outcome.code === code ? { code: "handler_failed" } : undefined));

/** Returns a mistake in the functions for operators. */
const operating = (admin: NonNullable<Mistake["admin"]>): Mistake => ({ admin });

/** Returns a mistake that changes the parameters of lists. */
const asking = (change: (query: InboxQuery) => InboxQuery): Mistake =>
  operating((admin) => ({ list: (query) => admin.list(change(query)) }));

/** Returns a mistake that changes the parameters of releases. */
const releasing = (change: (options: ReleaseOptions) => ReleaseOptions): Mistake =>
  operating((admin) => ({ release: (options) => admin.release(change(options)) }));

/** Returns a mistake that stores jobs only if `accepts` returns true. */
const losing = (accepts: (job: InboxJob, server: Server) => boolean): Mistake => ({
  enqueue: (correct, server) => async (job, call) => {
    if (accepts(job, server)) await correct(job, call);
  },
});

const isSmall = ({ body }: InboxJob) => body.length <= 100_000;
const isReadable = (data: object) => "body" in data && "headers" in data;

/** Plausible mistakes in a queue behind an inbox. */
export const brokenInboxes: readonly BrokenInbox[] = [
  broken("reports a job as stored before it is", {
    enqueue:
      (correct, { clock }, isDead) =>
      async (job, call) => {
        const store = async () => isDead() || correct(job, call);
        clock.after(1_000, () => void store().catch(() => {}));
      },
  }),
  broken("reports a job as stored although the connection is lost", {
    enqueue: (correct) => async (job, call) => {
      await Promise.resolve(correct(job, call)).catch(() => {});
    },
  }),
  broken(
    "loses jobs that no worker waits for",
    losing((_, { workers }) => workers.length > 0),
  ),
  broken("reports a job as stored although it is too large", losing(isSmall), {
    maxBodyBytes: 100_000,
  }),
  broken("refuses large jobs", {
    enqueue: (correct) => async (job, call) => {
      if (!isSmall(job)) throw new Error("The message is too large.");
      await correct(job, call);
    },
  }),
  broken(
    "loses byte order marks",
    storing((job) => ({ ...job, body: job.body.replace(/^\uFEFF/, "") })),
  ),
  broken(
    "parses bodies and serializes them again",
    storing((job) =>
      job.body.startsWith("\uFEFF") ? job : { ...job, body: JSON.stringify(JSON.parse(job.body)) },
    ),
  ),
  broken(
    "keeps no header except the id",
    storing(({ headers, ...job }) => {
      const id = "x-svc-delivery-id";
      return { ...job, headers: { [id]: headers[id] } };
    }),
  ),
  broken("makes another job for each copy", copying(["ready", "delayed", "active"], storesAgain)),
  broken("looks for a copy in one step, and stores the job in the next", {
    enqueue: (correct, server) => async (job, call) => {
      const { admin } = server.memory;
      const before = await admin.get(job.key);
      await new Promise(setImmediate);
      const isOverlooked = !before && (await admin.get(job.key));
      await (isOverlooked ? storesAgain(server, job) : correct(job, call));
    },
  }),
  broken("makes another job for a copy of a running job", copying(["active"], storesAgain)),
  broken(
    "makes another job for a copy of a job that waits for its next attempt",
    copying(["delayed"], storesAgain),
  ),
  broken(
    "ignores a copy of a dead letter",
    copying(["dead"], () => {}),
  ),
  broken("keeps a dead letter although its copy runs", copying(["dead"], storesAgain)),
  broken("runs a job whatever its record says", {
    receiver: ({ resume, forget }) => ({
      async resume(delivery, options) {
        await forget({ deliveryId: delivery.headers["x-svc-delivery-id"] ?? "" });
        return resume(delivery, options);
      },
    }),
  }),
  broken("does not retry", { settings: (settings) => ({ ...settings, attempts: 1 }) }),
  broken("retries forever", { settings: (settings) => ({ ...settings, attempts: 1_000 }) }),
  broken(
    "ignores the delay of a RetryError",
    ending(({ code }) => (code === "handler_failed" ? { retryAfterMs: 0 } : undefined)),
  ),
  broken("retries a PermanentError", failingOn("parked")),
  broken("spends an attempt on a run that waits for another run's lease", failingOn("in_flight")),
  broken("spends an attempt on a run that cannot reach the store", failingOn("store_unavailable")),
  broken("keeps dead letters without their errors", {
    admin: (admin) => {
      const without = (entry: InboxEntry): InboxEntry => ({ ...entry, error: undefined });
      return {
        async *list(query) {
          for await (const entry of admin.list(query)) yield without(entry);
        },
        async get(id) {
          const entry = await admin.get(id);
          return entry && without(entry);
        },
      };
    },
  }),
  broken("loses a job that cannot be read", {
    inject: async (data, { memory }) => {
      if (isReadable(data)) await memory.add(data);
    },
  }),
  broken("stops its workers at a job that cannot be read", {
    inject: async (data, { memory, workers }) => {
      await memory.add(data);
      if (isReadable(data)) return;
      await Promise.all(workers.map((worker) => worker.stop({ deadlineMs: 1_000_000 })));
    },
  }),
  broken("does not compare the keys of jobs", {
    receiver: ({ resume }) => ({
      resume: (delivery, options) => resume(delivery, { ...options, key: undefined }),
    }),
  }),
  broken("does not notice that a worker died", {
    kill: async (worker) => void worker.stop({ deadlineMs: 2 ** 31 - 1 }),
  }),
  broken("lets a stopped worker start jobs", { stop: async () => {} }),
  broken("fails the running jobs of a worker that stops", () => {
    let isStopping = false;
    return {
      ...ending(() => (isStopping ? { code: "handler_failed" } : undefined)),
      async stop(worker) {
        isStopping = true;
        await worker.stop({ deadlineMs: 10_000 });
        isStopping = false;
      },
    };
  }),
  broken("counts done jobs as active", () => {
    let done = 0;
    return {
      ...ending(({ code }) => {
        if (code === "processed") done += 1;
        return undefined;
      }),
      admin: (admin) => ({
        async stats() {
          const { active, ...others } = await admin.stats();
          return { ...others, active: active + done };
        },
      }),
    };
  }),
  broken(
    "counts jobs that wait for their next attempt as ready",
    operating((admin) => ({
      async stats() {
        const { ready, delayed, ...others } = await admin.stats();
        return { ...others, ready: ready + delayed, delayed: 0 };
      },
    })),
  ),
  broken(
    "does not report the age of the oldest job",
    operating((admin) => ({
      stats: async () => ({ ...(await admin.stats()), oldestMs: undefined }),
    })),
  ),
  broken(
    "lists the newest job first",
    operating((admin) => ({
      async *list(query) {
        const entries: InboxEntry[] = [];
        for await (const entry of admin.list(query)) entries.unshift(entry);
        yield* entries;
      },
    })),
  ),
  broken(
    "lists jobs that have left their state",
    operating((admin) => ({
      async *list(query) {
        const ids: string[] = [];
        for await (const { id } of admin.list(query)) ids.push(id);
        for (const id of ids) {
          const entry = await admin.get(id);
          if (entry) yield { ...entry, state: query.state };
        }
      },
    })),
  ),
  broken(
    "assumes a rate if a release has none",
    operating((admin) => ({
      release: (options) => admin.release({ ...options, perSecond: options.perSecond || 1 }),
    })),
  ),
  broken(
    "lists all types",
    asking((query) => ({ ...query, type: undefined })),
  ),
  broken(
    "ignores the limit of a list",
    asking((query) => ({ ...query, limit: undefined })),
  ),
  broken(
    "starts each list at its beginning",
    asking((query) => ({ ...query, after: undefined })),
  ),
  broken(
    "returns bodies as JSON strings",
    operating((admin) => ({
      async get(id) {
        const entry = await admin.get(id);
        return entry && { ...entry, body: () => Buffer.from(JSON.stringify(String(entry.body()))) };
      },
    })),
  ),
  broken(
    "rejects for an unknown id",
    operating((admin) => ({
      async get(id) {
        return (await admin.get(id)) ?? Promise.reject(new Error("There is no such job."));
      },
    })),
  ),
  broken("retries a dead letter with its old count of attempts", () => {
    const retried = new Set<string>();
    return {
      receiver: ({ resume }) => ({
        async resume(delivery, options = {}) {
          const outcome = await resume(delivery, options);
          const isLast = outcome.code === "handler_failed" && retried.has(options.key ?? "");
          return isLast ? { ...outcome, code: "parked", status: 200 } : outcome;
        },
      }),
      admin: (admin) => ({
        retry(id) {
          retried.add(id);
          return admin.retry(id);
        },
      }),
    };
  }),
  broken(
    "claims to retry and discard any job",
    operating((admin) => ({
      retry: async (id) => (await admin.retry(id)) || true,
      discard: async (id, reason) => (await admin.discard(id, reason)) || true,
    })),
  ),
  broken(
    "does not remove what is discarded",
    operating((admin) => ({ discard: async (id) => (await admin.get(id))?.state === "dead" })),
  ),
  broken(
    "releases all dead letters together",
    releasing((options) => ({ ...options, perSecond: 1_000 })),
  ),
  broken(
    "releases more than the limit",
    releasing((options) => ({ ...options, limit: undefined })),
  ),
  broken(
    "releases dead letters of all types",
    releasing((options) => ({ ...options, type: undefined })),
  ),
  broken(
    "continues a release whose jobs fail again",
    releasing((options) => ({ ...options, stopAfter: undefined })),
  ),
  broken(
    "continues a release whose signal is aborted",
    releasing((options) => ({ ...options, signal: undefined })),
  ),
  broken("keeps connections that have silently died", { keeps: ["silent"] }),
  broken("has workers that keep connections that have silently died", {
    silenced: (workers) => Promise.all(workers.map((worker) => worker.stop({ deadlineMs: 0 }))),
  }),
  broken("keeps connections to a primary that was demoted", { keeps: ["replica"] }),
  broken("lets operators wait for ever for connections that have silently died", {
    isPatient: true,
  }),
  broken("waits for ever for connections that have silently died when its worker stops", {
    stop: (worker, isSilent) =>
      isSilent() ? new Promise<never>(() => {}) : worker.stop({ deadlineMs: 10_000 }),
  }),
  broken("keeps a verification that has found a silent connection", {
    enqueue: (correct, _server, _isDead, isSilent) => {
      let verified: Promise<unknown> | undefined;
      return async (job, call) => {
        verified ??= isSilent() ? new Promise(() => {}) : Promise.resolve();
        await verified;
        await correct(job, call);
      };
    },
  }),
  broken("loses jobs when its storage is full", { overflow: () => {} }),
  broken("keeps the letter of an event of a key that is done", copyingOrdered(storesAgain)),
  broken("keeps the letter of an event of a key until it dies again", () =>
    discardingAfter((outcome) => outcome.code === "parked"),
  ),
  broken("makes another letter each time that an event of a key dies", () =>
    discardingAfter((outcome) => outcome.code === "processed"),
  ),
  broken(
    "makes a job dead whose worker died in its last attempt, and leaves its record to that run",
    () => {
      let hasKilled = false;
      return {
        receiver: ({ resume }) => ({
          async resume(delivery, options = {}) {
            const outcome = await resume(delivery, options);
            const isLeft = hasKilled && options.isLast && outcome.code === "in_flight";
            return isLeft ? ({ ...outcome, ...parked } as unknown as Outcome) : outcome;
          },
        }),
        async kill(worker) {
          hasKilled = true;
          await worker.stop({ deadlineMs: 0 });
        },
      };
    },
  ),
  broken("reads errors without care", {
    receiver: ({ resume }) => ({
      async resume(delivery, options = {}) {
        let problem: unknown;
        const onError = (error: unknown) => (problem = error);
        const outcome = await resume(delivery, { ...options, onError });
        try {
          if (problem !== undefined) options.onError?.(new Error((problem as Error).message));
          return outcome;
        } catch {
          // The worker has died of it.
          return new Promise(() => {});
        }
      },
    }),
  }),
  broken("has only some attempts again after a retry if the receiver limits its runs", {
    receiver: ({ resume }) => ({
      resume: (delivery, options) => resume(delivery, { ...options, isLast: false }),
    }),
  }),
  broken("has only some attempts again after the second retry of a letter", () => {
    const dead = new Set<string>();
    return {
      receiver: ({ resume }) => ({
        async resume(delivery, { key = "", isLast, ...options } = {}) {
          const isFirst = isLast === true && !dead.has(key);
          if (isFirst) dead.add(key);
          return resume(delivery, { ...options, key, isLast: isFirst });
        },
      }),
    };
  }),
  broken("delays a job for as long as its RetryError states", {
    receiver: ({ resume }, { clock }) => ({
      async resume(delivery, options) {
        const outcome = await resume(delivery, options);
        const { retryAfterMs = 0 } = outcome;
        if (retryAfterMs > 86_400_000) {
          await new Promise<void>((end) => void clock.after(retryAfterMs, end));
        }
        return outcome;
      },
    }),
  }),
  broken(
    "does not run a delayed job when an operator retries it",
    operating((admin) => ({
      retry: async (id) => (await admin.get(id))?.state === "dead" && admin.retry(id),
    })),
  ),
  broken("ignores the keys of events", {
    settings: ({ attempts }) => ({ attempts }),
  }),
  broken("keeps the order of all events", {
    settings: ({ partitionBy, ...settings }) => ({
      ...settings,
      partitionBy: partitionBy && (() => "all"),
    }),
  }),
  broken("keeps the order of events without a key", {
    settings: ({ partitionBy, ...settings }) => ({
      ...settings,
      partitionBy: partitionBy && ((event) => partitionBy(event) ?? "none"),
    }),
  }),
  broken("continues a key that it must hold", {
    settings: (settings) => ({
      ...settings,
      afterDead: settings.partitionBy && "continue",
    }),
  }),
  broken("holds a key that it must continue", {
    settings: (settings) => ({ ...settings, afterDead: settings.partitionBy && "hold" }),
  }),
];
