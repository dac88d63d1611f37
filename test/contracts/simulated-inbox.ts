import type { Receiver } from "@svc-webhooks/core";
import { inboxFor, type Enqueue, type InboxAdmin } from "@svc-webhooks/core/inbox";
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
  /** `isDead` returns whether the connection was killed. */
  readonly enqueue?: (correct: Enqueue, server: Server, isDead: () => boolean) => Enqueue;
  /** Returns the receiver as a worker uses it. */
  readonly receiver?: (receiver: Receiver, server: Server) => Pick<Receiver, "resume">;
  readonly admin?: (admin: InboxAdmin, server: Server) => Partial<InboxAdmin>;
  readonly inject?: (data: object, server: Server) => Promise<void>;
  readonly stop?: (worker: MemoryWorker) => Promise<void>;
  readonly kill?: (worker: MemoryWorker) => Promise<void>;
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
    return {
      clock,
      inject: (data) => mistake.inject?.(data, server) ?? memory.add(data),
      connect() {
        const own: MemoryWorker[] = [];
        let isDead = false;
        const correct: Enqueue = async (job, { event }) => {
          if (isDead) throw new Error("ECONNREFUSED");
          await memory.add(job, { event });
        };
        return {
          admin: { ...memory.admin, ...mistake.admin?.(memory.admin, server) },
          inbox: inboxFor(mistake.enqueue?.(correct, server, () => isDead) ?? correct),
          async work(receiver) {
            // The contract gives a whole receiver.
            const used = mistake.receiver?.(receiver as Receiver, server) ?? receiver;
            const worker = await memory.work(used);
            own.push(worker);
            workers.push(worker);
            return { stop: () => stop(worker) };
          },
          async kill() {
            isDead = true;
            await Promise.all(own.map(kill));
          },
        };
      },
    };
  };
