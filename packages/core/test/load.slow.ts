import { sized } from "@svc-webhooks/kit/sized";
import { eventBody, forgedSignature, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { collectGarbage } from "@svc-webhooks/kit/garbage";
import { gate } from "@svc-webhooks/kit/gate";
import { settled } from "@svc-webhooks/kit/settled";
import { expect, test } from "vitest";
import {
  memoryStore,
  parseDelivery,
  serializeDelivery,
  type Outcome,
  type OutcomeCode,
} from "../src/index.js";
import { gated, observed, recorded, timed } from "./support.js";

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

async function countCodes(receiving: readonly Promise<Outcome>[]) {
  const counts: Partial<Record<OutcomeCode, number>> = {};
  for (const { code } of await Promise.all(receiving)) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("of 1,000 concurrent copies one runs the handler, and no other gets 2xx before it is done", async () => {
  const { opened, open } = gate();
  const { receiver, contexts } = recorded({ handle: () => opened });
  const delivery = await signed();
  const thousandCopies = () => times(1_000, () => receiver.receive(delivery));
  const copies = thousandCopies();
  await settled();
  expect(await countCodes(thousandCopies())).toEqual({ in_flight: 1_000 });
  open();
  expect(await countCodes(copies)).toEqual({ processed: 1, in_flight: 999 });
  expect(await countCodes(thousandCopies())).toEqual({ duplicate: 1_000 });
  expect(contexts).toHaveLength(1);
});

test("of 10,000 deliveries above maxConcurrent, 100 run, and no body of another is read", async () => {
  const bench = gated({ maxConcurrent: 100 });
  const { body, headers, ...delivery } = await signed();
  let reads = 0;
  const receive = (index: number) =>
    bench.receiver.receive({
      ...delivery,
      headers: { ...headers, "x-svc-delivery-id": `dlv_${index}` },
      body: () => {
        reads += 1;
        return body;
      },
    });
  const running = times(100, receive);
  await settled();
  let heapAfterTenth = 0;
  for (let index = 100; index < 10_000; index += 1) {
    if (index === 1_000) heapAfterTenth = heapInUse();
    const { code } = await receive(index);
    if (code !== "overloaded") throw new Error(`delivery ${index} ended as ${code}`);
  }
  // Keeping anything for each of the 9,000 would need more. The heap's noise is 2 MiB.
  expect(heapInUse() - heapAfterTenth).toBeLessThan(2 ** 21 + 9_000 * 30);
  expect([reads, bench.contexts.length]).toEqual([100, 100]);
  await bench.finish();
  expect(await countCodes(running)).toEqual({ processed: 100 });
  expect((await receive(10_000)).code).toBe("processed");
});

test("a burst of 10,000 deliveries never runs more than maxConcurrent handlers", async () => {
  const bench = gated({ maxConcurrent: 100 });
  const deliveries = await Promise.all(
    times(10_000, (index) => signed(undefined, { "x-svc-delivery-id": `dlv_${index}` })),
  );
  // All pass the first check before the first is verified.
  const burst = deliveries.map(({ body, ...delivery }) =>
    bench.receiver.receive({ ...delivery, body: async () => body }),
  );
  await settled();
  expect(bench.contexts).toHaveLength(100);
  await bench.finish();
  expect(await countCodes(burst)).toEqual({ processed: 100, overloaded: 9_900 });
});

test("1,000 slow bodies that are not signed refuse no genuine delivery", async () => {
  const bench = gated({ maxConcurrent: 1 });
  const strangers = times(1_000, () =>
    bench.receiver.receive({
      ...unsigned(undefined, { "x-svc-signature": forgedSignature }),
      body: () => new Promise(() => {}),
    }),
  );
  await settled();
  void bench.finish();
  for (let index = 0; index < 100; index += 1) {
    const genuine = await signed(undefined, { "x-svc-delivery-id": `dlv_${index}` });
    expect((await bench.receiver.receive(genuine)).code).toBe("processed");
  }
  await bench.clock.advance(10_000);
  expect(await countCodes(strangers)).toEqual({ body_timeout: 1_000 });
});

test("100 interleaved copies of each of 100 deliveries run 100 handlers", async () => {
  const { receiver, contexts } = recorded({ handle: settled });
  const deliveries = await Promise.all(
    times(100, (index) => signed(eventBody(), { "x-svc-delivery-id": `dlv_${index}` })),
  );
  const {
    processed,
    in_flight = 0,
    duplicate = 0,
    ...others
  } = await countCodes(
    times(100, () => deliveries.map((delivery) => receiver.receive(delivery))).flat(),
  );
  expect({ processed, rest: in_flight + duplicate, others }).toEqual({
    processed: 100,
    rest: 9_900,
    others: {},
  });
  expect(contexts).toHaveLength(100);
  expect(new Set(contexts.map(({ deliveryId }) => deliveryId)).size).toBe(100);
});

const kept = sized(60_000, 300_000);
const forgeries = sized(20_000, 100_000);

test(`${kept} deliveries leave no more in memory than the store's bound`, async () => {
  const deliveries = kept;
  const maxRecords = 1_000;
  const { receiver } = observed({ store: memoryStore({ maxRecords }), observe: undefined });
  const { headers, ...delivery } = await signed();
  const receive = (index: number) =>
    receiver.receive({
      ...delivery,
      headers: { ...headers, "x-svc-delivery-id": `dlv_${index}` },
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
  // Keeping a record, or anything else, for each delivery would need more. The heap's noise is 2 MiB.
  expect(heapGrowth).toBeLessThan(2 ** 21 + deliveries * 30);
});

test("a stored delivery of the largest size can be serialized and parsed", () => {
  const body = new Uint8Array(104_857_600).fill(0xff);
  const stored = serializeDelivery({ method: "POST", headers: {}, body });
  expect(parseDelivery(stored).body.length).toBe(body.length);
});

test(`${forgeries} forged requests print one line a minute, with the number omitted`, async () => {
  const { receiver, clock, lines } = timed();
  const forged = unsigned(eventBody(), { "x-svc-signature": forgedSignature });
  for (let sent = 0; sent < forgeries; sent += 1) await receiver.receive(forged);
  await clock.advance(60_000);
  expect(lines).toHaveLength(1);
  await receiver.receive(forged);
  expect(lines).toEqual([lines[0], expect.stringContaining(` (and ${forgeries - 1} more)`)]);
});
