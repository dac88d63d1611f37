import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Outcome } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { describe, expect } from "vitest";
import { send, type Reply } from "../support/clients.js";
import { eventBody, signed } from "../support/deliveries.js";
import { ManualClock } from "../support/manual-clock.js";
import { describeWithRedis } from "../support/redis-server.js";
import { listen } from "../support/servers.js";
import { settled } from "../support/settled.js";
import { codesOf, idsOf, test, until, type Answered, type Bench } from "./faults-bench.js";
import { clientKinds } from "./faults-clients.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const second = 1_000;
/** The default of `storeTimeouts.claim`. */
const claimMs = 1_500;
const mebibyte = 2 ** 20;

/** What garbage collection leaves on the heap and outside of it. */
async function heldBytes(): Promise<number> {
  await settled();
  collectGarbage();
  // What the first collection has finalized.
  await settled();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Sends deliveries of 200 kB over HTTP, by fifties; each is refused once its claim takes too long. */
async function refuseLarge(
  { receiver, client }: Bench,
  clock: ManualClock,
  ids: readonly string[],
): Promise<readonly WeakRef<object>[]> {
  const refs: WeakRef<object>[] = [];
  const receive = (...call: Parameters<typeof receiver.receive>): Promise<Outcome> => {
    refs.push(new WeakRef(call[0]));
    return receiver.receive(...call);
  };
  const port = await listen(webhooks({ receive }));
  for (let start = 0; start < ids.length; start += 50) {
    const wave = ids.slice(start, start + 50);
    const claimed = client.calls() + wave.length;
    const responses = wave.map(async (id): Promise<Reply> => {
      const body = eventBody("email.sent", { id, text: "x".repeat(200_000) });
      return send(port, await signed(body, { "x-svc-delivery-id": id }));
    });
    await until(() => client.calls() === claimed, "all claims are sent");
    await clock.advance(claimMs);
    const codes = (await Promise.all(responses)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(["store_unavailable"]));
  }
  return refs;
}

/** How many scripts the server was asked for, also those that it did not know or refused. */
async function commandsOf({ admin }: Bench): Promise<number> {
  const stats = await admin.info("commandstats");
  const lines = stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+),.*rejected_calls=(\d+)/gm);
  return [...lines].reduce((sum, [, calls, rejected]) => sum + Number(calls) + Number(rejected), 0);
}

/** Deliveries that are refused during 20 s of the receiver's time. */
async function refuse(
  { deliver }: Bench,
  clock: ManualClock,
  ids: readonly string[],
): Promise<readonly Answered[]> {
  const answers: Promise<Answered>[] = [];
  for (let wave = 0; wave < 20; wave += 1) {
    const share = ids.length / 20;
    for (const id of ids.slice(wave * share, (wave + 1) * share)) answers.push(deliver(id));
    await clock.advance(second);
  }
  await clock.advance(claimMs);
  return Promise.all(answers);
}

interface Outage {
  readonly begin: (all: Bench) => unknown;
  /** After 20 s and half of the deliveries; the other half follows. */
  readonly worsen?: (all: Bench) => unknown;
  readonly end: (all: Bench) => unknown;
}

const stop = ({ server }: Bench) => server.process.kill("SIGSTOP");
const kill = async ({ server, client }: Bench) => {
  await server.kill();
  await until(() => !client.isReady(), "the client has noticed");
};
const restart = async (all: Bench) => {
  await all.restart();
  await until(all.client.isReady, "the client is back");
};

const outages: readonly (readonly [string, Outage])[] = [
  ["stands still", { begin: stop, end: ({ server }) => server.process.kill("SIGCONT") }],
  ["is gone", { begin: kill, end: restart }],
  ["stands still, then is gone", { begin: stop, worsen: kill, end: restart }],
  [
    "is behind a black hole",
    { begin: ({ proxy }) => proxy.set("black hole"), end: ({ heal }) => heal() },
  ],
];

// ioredis 5 queues and resends as 6 does.
const kinds = clientKinds.filter(({ name }) => name !== "ioredis 5");

describeWithRedis("while Redis", () => {
  describe.each(kinds)("(with $name)", (kind) => {
    test("hangs, nothing of 1,000 refused deliveries of 200 kB is held after their responses", async ({
      bench,
    }) => {
      const clock = new ManualClock();
      const all = await bench({ kind, clock });
      await all.insist("first");
      await all.proxy.set("hold");
      await refuseLarge(all, clock, idsOf(50, "warmup"));

      const before = await heldBytes();
      const refs = await refuseLarge(all, clock, idsOf(1_000));
      const heldMiB = ((await heldBytes()) - before) / mebibyte;
      expect(refs).toHaveLength(1_000);
      expect(refs.filter((ref) => ref.deref()).length).toBe(0);
      // Of 191 MiB of bodies. 15 MiB were measured: reports, calls that are pending, spies.
      expect(heldMiB).toBeLessThan(50);
      // A claim and a release of each delivery.
      expect(all.client.waiting()).toBe(2 * 1_050);
    });

    test.for(outages)(
      "%s for 20 s, 2,000 refused deliveries cause at most 3 commands each when it is back",
      async ([, { begin, worsen, end }], { bench }) => {
        const clock = new ManualClock();
        const all = await bench({ kind, clock });
        await all.insist("first");
        // A restart sets it to zero as well.
        await all.admin.config("RESETSTAT");
        await begin(all);
        const ids = idsOf(2_000);
        const [early, late] = worsen ? [ids.slice(0, 1_000), ids.slice(1_000)] : [ids, []];
        const answers = [...(await refuse(all, clock, early))];
        if (worsen) {
          await worsen(all);
          answers.push(...(await refuse(all, clock, late)));
        }
        expect(codesOf(answers)).toEqual({ store_unavailable: ids.length });

        await end(all);
        // Everything that is still tried, until a lease has passed.
        for (let ms = 0; ms <= 40 * second; ms += 500) {
          await until(() => all.client.waiting() === 0, "nothing is pending");
          await clock.advance(500);
        }
        // A claim and a release; and the release once more where the server does not know its script.
        expect(await commandsOf(all)).toBeLessThanOrEqual(3 * ids.length);

        expect(codesOf(await all.deliverAll(ids))).toEqual({ processed: ids.length });
        expect(all.runs.toSorted()).toEqual(["first", ...ids].map((id) => `${id} 1`).toSorted());
        all.expectNothingLost(ids);
      },
    );

    test("hangs, drain does not wait for releases that are pending", async ({ bench }) => {
      const clock = new ManualClock();
      const all = await bench({ kind, clock });
      await all.insist("first");
      stop(all);
      const refused = all.deliverAll(idsOf(100));
      await until(() => all.client.waiting() === 100, "all claims are sent");
      await clock.advance(claimMs);
      expect(codesOf(await refused)).toEqual({ store_unavailable: 100 });

      const left: number[] = [];
      void all.receiver.drain({ deadlineMs: 5 * second }).then((count) => left.push(count));
      // The clock stands still: a drain that waits for anything would not resolve.
      await settled();
      expect(left).toEqual([0]);
      expect(all.client.waiting()).toBe(200);
    });
  });
});
