import type { Receiver } from "@svc-webhooks/core";
import {
  defineInbox,
  type Enqueue,
  type InboxAdmin,
  type InboxJob,
} from "@svc-webhooks/core/inbox";
import { fakeClock, type FakeClock } from "@svc-webhooks/testing";
import {
  memoryInbox,
  type InboxSettings,
  type MakeInbox,
  type MemoryInbox,
  type MemoryWorker,
} from "@svc-webhooks/testing/inbox";

/** The inbox in memory behind a simulated network. */
export interface Server {
  readonly memory: MemoryInbox;
  readonly clock: FakeClock;
  /** All workers that were started. */
  readonly workers: readonly MemoryWorker[];
}

/** Parts of a simulated inbox that replace the correct ones. */
export interface Mistake {
  readonly settings?: (settings: InboxSettings) => InboxSettings;
  /** `isDead` returns whether the connection was killed, and `isSilent` whether the server does not reply. */
  readonly enqueue?: (
    correct: Enqueue,
    server: Server,
    isDead: () => boolean,
    isSilent: () => boolean,
  ) => Enqueue;
  /** Returns the receiver as a worker uses it. */
  readonly receiver?: (receiver: Receiver, server: Server) => Pick<Receiver, "resume">;
  readonly admin?: (admin: InboxAdmin, server: Server) => Partial<InboxAdmin>;
  readonly inject?: (data: object, server: Server) => Promise<void>;
  readonly stop?: (worker: MemoryWorker, isSilent: () => boolean) => Promise<void>;
  readonly kill?: (worker: MemoryWorker) => Promise<void>;
  /** The faults of a server that its clients do not leave. */
  readonly keeps?: readonly ("silent" | "replica")[];
  /** Called with the workers of connections that have silently died. Default: they leave them. */
  readonly silenced?: (workers: readonly MemoryWorker[]) => unknown;
  /** Whether operators wait for a silent server for ever. */
  readonly isPatient?: boolean;
  /** Stores a job in a full storage. Default: rejects. */
  readonly overflow?: (job: InboxJob, server: Server) => unknown;
}

/** After this time, a client leaves a server that is silent or a replica, in milliseconds. */
const leaveMs = 5_000;

/** The number of jobs that a full storage still stores. */
const room = 3;

/** The connection of one client. */
function link(clock: FakeClock, { keeps = [] }: Mistake) {
  let fault: "silent" | "replica" | undefined;
  const never = () => new Promise<never>(() => {});
  return {
    isSilent: () => fault === "silent",
    meet(met: "silent" | "replica") {
      fault = met;
      if (!keeps.includes(met)) clock.after(leaveMs, () => (fault = undefined));
    },
    /** Calls the server. Without a reply, the call rejects after `ms`. */
    async reach<Reply>(call: () => Reply | Promise<Reply>, ms: number): Promise<Reply> {
      if (fault === "replica") throw new Error("READONLY");
      if (fault === undefined) return call();
      if (ms === Infinity) return never();
      return new Promise<never>((_resolve, reject) => {
        clock.after(ms, () => reject(new Error("There is no reply.")));
      });
    },
  };
}

/**
 * Returns the inbox in memory as if processes used it over a network. A killed process cannot reach it, and it gives back
 * the jobs of that process. `mistakeOf` is called for each queue.
 */
export const simulatedInbox =
  (mistakeOf: () => Mistake = () => ({})): MakeInbox =>
  (given) => {
    const mistake = mistakeOf();
    const { stop = (worker) => worker.stop({ deadlineMs: 10_000 }) } = mistake;
    const { kill = (worker) => worker.stop({ deadlineMs: 0 }) } = mistake;
    const { attempts, ...settings } = mistake.settings?.(given) ?? given;
    const clock = fakeClock();
    const memory = memoryInbox({ clock, retry: { limit: attempts }, ...settings });
    const workers: MemoryWorker[] = [];
    const server = { memory, clock, workers };
    const links: ReturnType<typeof link>[] = [];
    let isFull = false;
    return {
      clock,
      demote() {
        for (const one of links) one.meet("replica");
      },
      fill: () => void (isFull = true),
      inject: (data) => mistake.inject?.(data, server) ?? memory.add(data),
      connect() {
        const started: MemoryWorker[] = [];
        let isDead = false;
        const own = link(clock, mistake);
        links.push(own);
        const correct: Enqueue = async (job, { event }) => {
          if (isDead) throw new Error("ECONNREFUSED");
          await own.reach(async () => {
            const { overflow } = mistake;
            if (!isFull || memory.jobs().length < room) return memory.add(job, { event });
            if (!overflow) throw new Error("OOM");
            await overflow(job, server);
          }, leaveMs);
        };
        const operatorMs = mistake.isPatient ? Infinity : 2 * leaveMs;
        const reading = <Result>(read: () => Promise<Result>) => own.reach(read, operatorMs);
        const admin: InboxAdmin = {
          ...memory.admin,
          stats: () => reading(() => memory.admin.stats()),
          get: (id) => reading(() => memory.admin.get(id)),
        };
        return {
          admin: { ...admin, ...mistake.admin?.(admin, server) },
          async silence() {
            own.meet("silent");
            await mistake.silenced?.(started);
          },
          inbox: defineInbox(
            mistake.enqueue?.(correct, server, () => isDead, own.isSilent) ?? correct,
          ),
          async work(receiver) {
            // The contract gives a whole receiver.
            const used = mistake.receiver?.(receiver as Receiver, server) ?? receiver;
            const worker = await memory.work(used);
            started.push(worker);
            workers.push(worker);
            return { stop: () => stop(worker, own.isSilent) };
          },
          async kill() {
            isDead = true;
            await Promise.all(started.map(kill));
          },
        };
      },
    };
  };
