import { createReceiver, type Delivery, type DeliveryReport } from "@svc-webhooks/core";
import { receiverByHand } from "../byhand/receive.js";
import { checkReceiver } from "../check-receiver.js";
import { deliveryOf, eventType, secret } from "../deliveries.js";
import { byHand, ours } from "../in-memory.js";
import { takeTurns, type Pace } from "../in-process.js";
import type { Race } from "../race.js";
import type { RunSection } from "../section.js";

export const receive: RunSection = async ({ quick }) => {
  const pace = quick ? { rounds: 1, turnMs: 1 } : { rounds: 80, turnMs: 25 };
  await checkReceiver(byHand);
  await checkReceiver(ours);
  return {
    title: "Receive",
    about,
    races: [
      {
        ...(await againstByHand("receive(), 1 kB", () => {}, pace)),
        bars: [{ lane: "svc-webhooks", against: "by hand", atMost: 1.6, aim: 1.4 }],
      },
      // Here its lease is kept and its time is taken.
      await againstByHand("receive(), 1 kB, async handler", async () => {}, pace),
      await byStage(pace),
    ],
  };
};

/** Of our memory store; by hand, records begin to go there as well. */
const capacity = 100_000;

/** The same delivery under a new id each time, by the one set of headers it comes with: making more is no part of the work. */
async function deliveries() {
  const genuine = await deliveryOf(1_024);
  const headers: Record<string, string> = { ...genuine.headers };
  const bytes = Buffer.from(genuine.body);
  let made = 0;
  const renew = () => {
    headers["x-svc-delivery-id"] = headers["idempotency-key"] = `dlv_${made++}`;
  };
  // As adapters hand it over.
  const delivery: Delivery = { method: "POST", headers: (name) => headers[name], body: bytes };
  return { renew, headers, bytes, delivery };
}

async function againstByHand(
  title: string,
  handle: () => void | Promise<void>,
  pace: Pace,
): Promise<Race> {
  const on = { [eventType]: handle };
  const { renew, headers, bytes, delivery } = await deliveries();
  const theirs = receiverByHand({ secret, on });
  const { receive: our } = createReceiver({ secret, on });
  for (let filled = 0; filled < (pace.rounds > 1 ? capacity : 1); filled++) {
    renew();
    await theirs(headers, bytes);
    await our(delivery);
  }
  return {
    title,
    unit: "µs",
    better: "less",
    reference: "by hand",
    lanes: await takeTurns(
      {
        "by hand": () => (renew(), theirs(headers, bytes)),
        "svc-webhooks": () => (renew(), our(delivery)),
      },
      pace,
    ),
    bars: [],
  };
}

const stages = ["admit", "verify", "decode", "route", "claim", "run"] as const;

/** Where the time goes, as the receiver's own reports have it; looking at the clock that often costs as well. */
async function byStage({ rounds }: Pace): Promise<Race> {
  const { renew, delivery } = await deliveries();
  const calls = rounds > 1 ? 2_000 : 10;
  let sums: Record<string, number> = {};
  const observe = (report: DeliveryReport) => {
    for (const name of ["total", ...stages] as const) {
      sums[name] = (sums[name] ?? 0) + (report[`${name}Ms`] ?? 0);
    }
  };
  const { receive: our } = createReceiver({ secret, on: { [eventType]: () => {} }, observe });
  const all = new Map<string, number[]>(["total", ...stages].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    sums = {};
    for (let call = 0; call < calls; call++) {
      renew();
      await our(delivery);
    }
    for (const [name, values] of all) values.push(((sums[name] ?? 0) / calls) * 1_000);
  }
  return {
    title: "receive() by stage, 1 kB",
    unit: "µs",
    better: "less",
    lanes: Array.from(all, ([name, values]) => ({ name, values })),
    bars: [],
  };
}

const about = `One new delivery after the other in this process, with the memory store at its capacity of 100,000 records. By hand is the receiver of \`byhand/receive.ts\`: verify, parse, claim and complete on a Map, without leases, time limits, checks of its options, warnings or reports.`;
