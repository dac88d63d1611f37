import { deepEqual, equal, ok } from "node:assert/strict";
import { PermanentError, RetryError, type AnyEvent } from "@svc-webhooks/core";
import { gate, type InboxCase, type InboxProbe, type Process, type Run } from "../probe.js";

/** Returns the key of an event: its field `group`, if that is a string. */
export const partitionBy = (event: AnyEvent): string | undefined =>
  typeof event["group"] === "string" ? event["group"] : undefined;

/** Accepts one event for each of the names, such as "a1 b1". A name consists of the event's key and a number. */
async function accept(probe: InboxProbe, process: Process, names: string): Promise<void> {
  for (const name of names.split(" ")) {
    await probe.accept(process, await probe.delivery({ group: name.slice(0, 1), name }));
  }
}

const nameOf = ({ event }: Run) => String(event["name"]);
const namesOf = (probe: InboxProbe, group: string) =>
  probe.runs.filter(({ event }) => event["group"] === group).map(nameOf);

const ordered = (
  title: string,
  afterDead: "continue" | "hold",
  run: (probe: InboxProbe, process: Process) => Promise<void>,
): InboxCase => ({
  title,
  settings: { afterDead },
  needs: ["order", "admin"],
  run: async (probe) => run(probe, await probe.process()),
});

/** Waits until as many events of a key have run as `names` lists, and checks that they ran in this order. */
const runIn = (probe: InboxProbe, group: string, names: string) =>
  probe
    .until(
      `the events of key ${group} have run as ${names}`,
      () => namesOf(probe, group).length >= names.split(" ").length,
      () => `They have run as ${namesOf(probe, group).join(" ")}.`,
    )
    .then(() => equal(namesOf(probe, group).join(" "), names));

/** Waits until `stats` reports this number of keys whose later events wait behind a dead letter. */
const holds = (probe: InboxProbe, { admin }: Process, count: number) =>
  probe.until(
    `stats() reports ${count} held keys`,
    async () => (await admin.stats()).heldKeys === count,
  );

const poison =
  (name: string) =>
  (run: Run): void => {
    if (nameOf(run) === name) throw new PermanentError("There is no such customer.");
  };

/** Cases about the order of events with the same key. */
export const order: readonly InboxCase[] = [
  ordered(
    "events of one key run one at a time and in order, even if one is retried",
    "continue",
    async (probe, process) => {
      const overlaps: string[] = [];
      const failing = new Set(["a1", "a3", "b2"]);
      probe.behavior = (run) => {
        const running = probe.runs.filter(
          ({ event, endedAt }) => endedAt === undefined && event["group"] === run.event["group"],
        );
        if (running.length > 1) overlaps.push(running.map(nameOf).join(" and "));
        if (failing.delete(nameOf(run))) throw new Error("The handler failed.");
      };
      await accept(probe, process, "a1 b1 a2 a3 b2 a4 b3");
      await process.work();
      await probe.worker();
      await runIn(probe, "a", "a1 a1 a2 a3 a3 a4");
      await runIn(probe, "b", "b1 b2 b2 b3");
      deepEqual(overlaps, [], "Events of one key ran at the same time.");
      deepEqual(await probe.deadLetters(), []);
    },
  ),
  ordered(
    "a key that waits for a retry does not delay other keys",
    "continue",
    async (probe, process) => {
      const retryAfterMs = 4_000;
      probe.behavior = (run) => {
        if (nameOf(run) === "a1" && run.context.run === 1) throw new RetryError({ retryAfterMs });
      };
      await accept(probe, process, "a1 a2 b1");
      await process.work();
      await runIn(probe, "a", "a1 a1 a2");
      await runIn(probe, "b", "b1");
      const names = probe.runs.map(nameOf);
      ok(names.indexOf("b1") < names.lastIndexOf("a1"), "Key b waited for key a.");
    },
  ),
  {
    title: "a key continues in its order after its worker was killed",
    needs: ["order", "kill"],
    async run(probe) {
      const killed = await probe.worker();
      probe.behavior = ({ process }) =>
        process === killed ? new Promise<never>(() => {}) : undefined;
      await accept(probe, killed, "a1 a2");
      await probe.ran(1);
      await killed.kill();
      await probe.worker();
      await runIn(probe, "a", "a1 a1 a2");
    },
  },
  ordered("events without a key run independently", "continue", async (probe, process) => {
    const both = gate();
    probe.behavior = ({ count }) => {
      if (count === 2) both.open();
      return both.passed;
    };
    await probe.accept(process);
    await probe.accept(process);
    await process.work();
    await probe.ran(2);
  }),
  ordered(
    "with continue, a key continues after a dead letter",
    "continue",
    async (probe, process) => {
      probe.behavior = poison("a1");
      await accept(probe, process, "a1 a2");
      await process.work();
      await runIn(probe, "a", "a1 a2");
      await probe.died(1);
    },
  ),
  ordered(
    "a successful redelivery of a dead letter removes it, so that no release runs it again",
    "continue",
    async (probe, process) => {
      probe.behavior = poison("a1");
      const first = await probe.accept(process, await probe.delivery({ group: "a", name: "a1" }));
      await accept(probe, process, "a2");
      await process.work();
      await runIn(probe, "a", "a1 a2");
      await probe.died(1);
      probe.behavior = () => {};
      await probe.accept(process, first);
      await runIn(probe, "a", "a1 a2 a1");
      await probe.died(0);
    },
  ),
  ordered(
    "an event whose redelivery fails too has only one dead letter",
    "continue",
    async (probe, process) => {
      probe.behavior = poison("a1");
      const first = await probe.accept(process, await probe.delivery({ group: "a", name: "a1" }));
      await process.work();
      const [before] = await probe.died(1);
      await probe.accept(process, first);
      await runIn(probe, "a", "a1 a1");
      await probe.passes(process);
      const [after] = await probe.died(1);
      equal(after?.key, before?.key);
    },
  ),
  ordered(
    "with hold, a key waits behind a dead letter until it is discarded",
    "hold",
    async (probe, process) => {
      probe.behavior = poison("a1");
      await accept(probe, process, "a1 a2 b1");
      await process.work();
      await probe.died(1);
      await probe.passes(process);
      await runIn(probe, "b", "b1");
      await runIn(probe, "a", "a1");
      await holds(probe, process, 1);
      const { id } = await probe.only(process, "dead");
      equal(await process.admin.discard(id, "test"), true);
      await runIn(probe, "a", "a1 a2");
    },
  ),
  ordered(
    "with hold, a key continues when its dead letter is done",
    "hold",
    async (probe, process) => {
      probe.behavior = poison("a1");
      await accept(probe, process, "a1 a2");
      await process.work();
      await probe.died(1);
      const { id } = await probe.only(process, "dead");
      probe.behavior = () => {};
      equal(await process.admin.retry(id), true);
      await runIn(probe, "a", "a1 a1 a2");
      await holds(probe, process, 0);
    },
  ),
];
