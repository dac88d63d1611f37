import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { memoryStore, type Outcome, type OutcomeCode } from "../src/index.js";
import { observed } from "./support.js";

function countCodes(outcomes: readonly Outcome[]): Partial<Record<OutcomeCode, number>> {
  const counts: Partial<Record<OutcomeCode, number>> = {};
  for (const { code } of outcomes) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

test("of 1,000 concurrent copies one runs the handler, and no other gets 2xx before it is done", async () => {
  const { opened, open } = gate();
  let runs = 0;
  const { receiver } = observed({
    on: {
      "*": () => {
        runs += 1;
        return opened;
      },
    },
  });
  const delivery = await signed();
  const copies = times(1_000, () => receiver.receive(delivery));
  await settled();
  const stragglers = await Promise.all(times(1_000, () => receiver.receive(delivery)));
  expect(countCodes(stragglers)).toEqual({ in_flight: 1_000 });
  open();
  expect(countCodes(await Promise.all(copies))).toEqual({ processed: 1, in_flight: 999 });
  const later = await Promise.all(times(1_000, () => receiver.receive(delivery)));
  expect(countCodes(later)).toEqual({ duplicate: 1_000 });
  expect(runs).toBe(1);
});

test("100 interleaved copies of each of 100 deliveries run 100 handlers", async () => {
  const runsOf = new Map<string, number>();
  const { receiver } = observed({
    on: {
      "*": async (_, { deliveryId }) => {
        runsOf.set(deliveryId, (runsOf.get(deliveryId) ?? 0) + 1);
        await settled();
      },
    },
  });
  const deliveries = await Promise.all(
    times(100, (index) => signed(eventBody(), { "x-svc-delivery-id": `dlv_${index}` })),
  );
  const outcomes = await Promise.all(
    times(100, () => deliveries.map((delivery) => receiver.receive(delivery))).flat(),
  );
  expect([...runsOf.values()]).toEqual(times(100, () => 1));
  const { processed, in_flight = 0, duplicate = 0, ...others } = countCodes(outcomes);
  expect({ processed, rest: in_flight + duplicate, others }).toEqual({
    processed: 100,
    rest: 9_900,
    others: {},
  });
});

test("300,000 deliveries leave no more in memory than the store's bound", async () => {
  const deliveries = 300_000;
  const maxRecords = 1_000;
  const { receiver } = observed({ store: memoryStore({ maxRecords }), observe: undefined });
  const { method, headers, body } = await signed();
  const receive = (index: number) =>
    receiver.receive({
      method,
      headers: { ...headers, "x-svc-delivery-id": `dlv_${index}` },
      body,
    });

  let evictions = 0;
  let heapAfterTenth = 0;
  for (let index = 0; index < deliveries; index += 1) {
    const { code, warnings } = await receive(index);
    if (code !== "processed") throw new Error(`delivery ${index} ended as ${code}`);
    evictions += warnings.length;
    if (index === deliveries / 10) heapAfterTenth = heapInUse();
  }
  const heapGrowth = heapInUse() - heapAfterTenth;

  // Each record beyond the bound evicted an old one, so there were never more than 1,000.
  expect(evictions).toBe(deliveries - maxRecords);
  expect((await receive(deliveries - 1)).code).toBe("duplicate");
  expect((await receive(deliveries - maxRecords)).code).toBe("duplicate");
  expect((await receive(0)).code).toBe("processed");
  // Less than 40 bytes for each delivery: a record, or anything else kept for each, would take more.
  expect(heapGrowth).toBeLessThan(10 * 1_024 * 1_024);
});
