import { signed, unsigned, forgedSignature } from "@svc-webhooks/kit/deliveries";
import { settled } from "@svc-webhooks/kit/settled";
import { describe, expect, test } from "vitest";
import { gated, second, send } from "./support.js";

/** Passes a delivery with its own id to the receiver; `reads` counts the bodies that were read. */
function sender({ receiver }: ReturnType<typeof gated>) {
  let count = 0;
  const reads: string[] = [];
  const deliver = async () => {
    const id = `dlv_${(count += 1)}`;
    const { body, ...delivery } = await signed(undefined, { "x-svc-delivery-id": id });
    return receiver.receive({
      ...delivery,
      // Several deliveries pass the first check before the first is verified.
      body: async () => {
        reads.push(id);
        return body;
      },
    });
  };
  return { deliver, reads };
}

describe("maxConcurrent", () => {
  test("refuses a delivery above it before its body is read, until a run has ended", async () => {
    const bench = gated({ maxConcurrent: 2 });
    const { deliver, reads } = sender(bench);
    const running = [deliver(), deliver()];
    await settled();
    const refused = await deliver();
    expect(refused).toMatchObject({ code: "overloaded", status: 503 });
    expect(refused.retryAfterMs).toBeGreaterThanOrEqual(5 * second);
    expect(refused.retryAfterMs).toBeLessThan(10 * second);
    expect(reads).toEqual(["dlv_1", "dlv_2"]);
    await bench.finish();
    expect((await Promise.all(running)).map(({ code }) => code)).toEqual([
      "processed",
      "processed",
    ]);
    expect((await deliver()).code).toBe("processed");
  });

  test("is checked again after verification, so a burst cannot pass it", async () => {
    const bench = gated({ maxConcurrent: 2 });
    const { deliver } = sender(bench);
    const burst = Array.from({ length: 10 }, deliver);
    await settled();
    expect(bench.contexts).toHaveLength(2);
    await bench.finish();
    const codes = (await Promise.all(burst)).map(({ code }) => code);
    expect(codes.filter((code) => code === "overloaded")).toHaveLength(8);
  });

  test("counts a run that outlives its response", async () => {
    const bench = gated({ maxConcurrent: 1 });
    const { deliver } = sender(bench);
    const first = deliver();
    await settled();
    await bench.clock.advance(10 * second);
    expect((await first).code).toBe("handler_timeout");
    expect((await deliver()).code).toBe("overloaded");
    await bench.finish();
    expect((await deliver()).code).toBe("processed");
  });

  test("does not count requests that are not verified", async () => {
    const bench = gated({ maxConcurrent: 1 });
    const strangers = Array.from({ length: 100 }, () =>
      bench.receiver.receive({
        ...unsigned(undefined, { "x-svc-signature": forgedSignature }),
        body: () => new Promise(() => {}),
      }),
    );
    await settled();
    void bench.finish();
    expect((await send(bench.receiver)).code).toBe("processed");
    await bench.clock.advance(10 * second);
    const codes = (await Promise.all(strangers)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(["body_timeout"]));
  });

  test("does not count resumed deliveries, which their queue limits", async () => {
    const bench = gated({ maxConcurrent: 1 });
    const resumed = bench.receiver.resume(
      await signed(undefined, { "x-svc-delivery-id": "dlv_1" }),
    );
    await settled();
    const delivery = await signed(undefined, { "x-svc-delivery-id": "dlv_2" });
    const received = bench.receiver.receive(delivery);
    await settled();
    expect(bench.contexts).toHaveLength(2);
    await bench.finish();
    expect((await resumed).code).toBe("processed");
    expect((await received).code).toBe("processed");
    expect(await bench.receiver.drain({ deadlineMs: 1_000 })).toBe(0);
  });

  test("does not refuse resumed deliveries, which their queue limits", async () => {
    const bench = gated({ maxConcurrent: 1 });
    const first = send(bench.receiver);
    await settled();
    const resumed = bench.receiver.resume(
      await signed(undefined, { "x-svc-delivery-id": "dlv_2" }),
    );
    await bench.finish();
    expect((await first).code).toBe("processed");
    expect((await resumed).code).toBe("processed");
  });
});
