import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { signed } from "@svc-webhooks/kit/deliveries";
import { expect, test } from "vitest";
import type { Delivery, Handler, MaybePromise, Outcome } from "../src/index.js";
import { observed } from "./support.js";

const directKey = Symbol.for("svc-webhooks.direct");

type Receive = (delivery: Delivery) => MaybePromise<Outcome>;

/** The function that adapters call, which returns an outcome without a promise if the delivery waits for nothing. */
function receiveWith(handler: Handler): Receive {
  const { receive } = observed({ on: { "*": handler } }).receiver;
  const direct = receive as unknown as { readonly [directKey]: Receive };
  return (delivery) => direct[directKey](delivery);
}

const delivery = await signed();
const ready = Promise.resolve();

/** Resolves to the result of `receive`, and the number of promises created until the next turn of the event loop. */
const counted = (receive: Receive) =>
  new Promise<{ outcome: MaybePromise<Outcome>; promises: number }>((resolve) => {
    // Only promises of the delivery count, not those of the test runner.
    const inDelivery = new AsyncLocalStorage<true>();
    let promises = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === "PROMISE" && inDelivery.getStore()) promises += 1;
      },
    }).enable();
    const outcome = inDelivery.run(true, () => receive(delivery));
    setImmediate(() => {
      hook.disable();
      resolve({ outcome, promises });
    });
  });

test.each<[string, number, Handler]>([
  ["a synchronous handler creates no promise", 0, () => {}],
  ["a handler that returns a promise creates two more", 2, () => ready],
  ["an async handler creates two promises besides its own", 3, async () => {}],
])("a delivery with %s", async (_, expected, handler) => {
  const receive = receiveWith(handler);
  const { outcome, promises } = await counted(receive);
  expect(promises).toBe(expected);
  expect(outcome instanceof Promise).toBe(expected > 0);
  expect(await outcome).toMatchObject({ code: "processed" });
});

test("a duplicate creates no promise", async () => {
  const receive = receiveWith(() => ready);
  await receive(delivery);
  const { outcome, promises } = await counted(receive);
  expect(promises).toBe(0);
  expect(outcome).toMatchObject({ code: "duplicate" });
});
