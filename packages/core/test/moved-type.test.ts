import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { defineInbox, runJob, type InboxJob, type Verdict } from "../src/inbox.js";
import {
  createReceiver,
  memoryStore,
  PermanentError,
  type DeliveryContext,
  type OutcomeCode,
} from "../src/index.js";
import { second } from "./support.js";

/** Two versions of an app that share a store: one runs a type inline, the other from a queue. */
function versions() {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const jobs = new Map<string, InboxJob>();
  const inbox = defineInbox(async (job) => {
    if (!jobs.has(job.key)) jobs.set(job.key, job);
  });
  const effects: number[] = [];
  const app = { behave: (_run: number): Promise<void> | void => {} };
  const handle = async (_event: unknown, { run = 0 }: DeliveryContext) => {
    await app.behave(run);
    effects.push(run);
  };
  const common = { secret, name: "test", clock, store, log: () => {}, onHandlerError: () => {} };
  const inline = createReceiver({ ...common, on: { "*": handle } });
  const queued = createReceiver({ ...common, on: { "*": inbox(handle) } });
  const delivery = signed();
  return {
    clock,
    effects,
    app,
    inline: async () => (await inline.receive(await delivery)).code,
    queued: async () => (await queued.receive(await delivery)).code,
    /** Runs the only job, with the receiver of a version. */
    work: (receiver = queued) => runJob(receiver, Array.from(jobs.values())[0], { clock }),
    byOld: inline,
  };
}

type Versions = ReturnType<typeof versions>;

const done = (code: "processed" | "duplicate") => ({ action: "done", code }) as const;

const fails = () => {
  throw new Error("unavailable");
};

/** Makes the runs wait, and returns the function that ends the wait. */
function held({ app }: Versions) {
  const { opened, open } = gate();
  app.behave = () => opened;
  return open;
}

/** A delivery at a point of its way through one version, and its copies, which meet the other one. */
interface Point {
  readonly point: string;
  readonly run: (bench: Versions) => Promise<readonly (OutcomeCode | Verdict)[]>;
  readonly ends: readonly unknown[];
}

const toInbox: readonly Point[] = [
  {
    point: "before it arrives",
    run: async ({ queued, work }) => [await queued(), await work()],
    ends: ["enqueued", done("processed")],
  },
  {
    point: "while it runs",
    async run(bench) {
      const open = held(bench);
      const first = bench.inline();
      await settled();
      const copy = await bench.queued();
      const job = bench.work();
      await settled();
      open();
      await bench.clock.advance(10 * second);
      return [await first, copy, await job];
    },
    ends: ["processed", "enqueued", done("duplicate")],
  },
  {
    point: "while its process has died in its run",
    async run(bench) {
      bench.app.behave = (run) => (run === 1 ? new Promise(() => {}) : undefined);
      const first = bench.inline();
      await settled();
      const copy = await bench.queued();
      const job = bench.work();
      // The dead run renews its lease until `maxRunMs`.
      await bench.clock.advance(1_000 * second);
      return [await first, copy, await job];
    },
    ends: ["handler_timeout", "enqueued", done("processed")],
  },
  {
    point: "when its run has failed",
    async run(bench) {
      bench.app.behave = fails;
      const first = await bench.inline();
      bench.app.behave = () => {};
      return [first, await bench.queued(), await bench.work()];
    },
    ends: ["handler_failed", "enqueued", done("processed")],
  },
  {
    point: "when it is done",
    run: async ({ inline, queued, work }) => [await inline(), await queued(), await work()],
    ends: ["processed", "enqueued", done("duplicate")],
  },
];

const toInline: readonly Point[] = [
  {
    point: "while its job waits, and a copy runs first",
    run: async ({ inline, queued, work }) => [await queued(), await inline(), await work()],
    ends: ["enqueued", "processed", done("duplicate")],
  },
  {
    point: "while its job waits, and a worker without the inbox runs it",
    run: async ({ inline, queued, work, byOld }) => [
      await queued(),
      await work(byOld),
      await inline(),
    ],
    ends: ["enqueued", done("processed"), "duplicate"],
  },
  {
    point: "while its job runs",
    async run(bench) {
      const stored = await bench.queued();
      const open = held(bench);
      const job = bench.work();
      await settled();
      const copy = await bench.inline();
      open();
      return [stored, copy, await job, await bench.inline()];
    },
    ends: ["enqueued", "in_flight", done("processed"), "duplicate"],
  },
  {
    point: "while its job waits for another attempt",
    async run(bench) {
      const stored = await bench.queued();
      bench.app.behave = fails;
      const job = await bench.work();
      bench.app.behave = () => {};
      return [stored, job, await bench.inline(), await bench.work()];
    },
    ends: [
      "enqueued",
      expect.objectContaining({ action: "retry" }),
      "processed",
      done("duplicate"),
    ],
  },
  {
    point: "while its job is a dead letter",
    async run(bench) {
      const stored = await bench.queued();
      bench.app.behave = () => {
        throw new PermanentError("no such account");
      };
      const job = await bench.work();
      bench.app.behave = () => {};
      return [
        stored,
        job,
        await bench.inline(),
        await bench.work(bench.byOld),
        await bench.inline(),
      ];
    },
    ends: [
      "enqueued",
      expect.objectContaining({ action: "dead" }),
      "parked",
      done("processed"),
      "duplicate",
    ],
  },
  {
    point: "when its job is done",
    run: async ({ inline, queued, work }) => [await queued(), await work(), await inline()],
    ends: ["enqueued", done("processed"), "duplicate"],
  },
];

describe("an event whose type moves has one effect", () => {
  test.each(toInbox)("from inline to the inbox $point", async ({ run, ends }) => {
    const bench = versions();
    expect(await run(bench)).toEqual(ends);
    expect(bench.effects).toHaveLength(1);
  });

  test.each(toInline)("from the inbox to inline $point", async ({ run, ends }) => {
    const bench = versions();
    expect(await run(bench)).toEqual(ends);
    expect(bench.effects).toHaveLength(1);
  });
});
