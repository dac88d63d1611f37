// @ts-check
import { createRequire } from "node:module";
import * as esm from "@svc-webhooks/core";
import { signedDelivery } from "@svc-webhooks/testing";

const cjs = /** @type {typeof esm} */ (createRequire(import.meta.url)("@svc-webhooks/core"));

if (esm.createReceiver === cjs.createReceiver) throw new Error("Only one copy is loaded.");

for (const [title, core, other] of /** @type {const} */ ([
  ["an ESM receiver", esm, cjs],
  ["a CommonJS receiver", cjs, esm],
])) {
  const delivery = await signedDelivery({ type: "email.sent" });
  /** @param {unknown} error */
  const throwing = (error) => () => {
    throw error;
  };
  /** @param {unknown} error */
  const rejecting = (error) => async () => {
    throw error;
  };
  /** @param {() => void} handler @param {Partial<esm.DeliveryStore>} [faults] */
  const receiverOf = (handler, faults) =>
    core.createReceiver({
      secret: "whsec_test",
      store: { ...core.memoryStore(), ...faults },
      onHandlerError: () => {},
      onParked: () => {},
      log: () => {},
      on: { "*": handler },
    });

  const retrying = receiverOf(throwing(new other.RetryError({ retryAfterMs: 61_000 })));
  const retried = await retrying.receive(delivery);
  console.log(title, retried.code, core.answer(retried).headers["Retry-After"]);

  const parking = receiverOf(throwing(new other.PermanentError("no such account")));
  console.log(title, (await parking.receive(delivery)).code);

  const body = rejecting(new other.BodyError("body_too_large"));
  console.log(title, (await receiverOf(() => {}).receive({ ...delivery, body })).code);

  let releases = 0;
  const claim = rejecting(new other.WebhookError("not_sent"));
  const release = async () => void (releases += 1);
  const failed = await receiverOf(() => {}, { claim, release }).receive(delivery);
  console.log(title, failed.code, releases);

  try {
    // @ts-expect-error: `on` is missing
    other.createReceiver({ secret: "whsec_test" });
  } catch (error) {
    console.log(title, core.codeOf(error));
  }

  const unnamed = { secret: "whsec_test", store: core.memoryStore(), on: { "*": () => {} } };
  core.createReceiver(unnamed);
  try {
    other.createReceiver(unnamed);
  } catch (error) {
    console.log(title, core.codeOf(error));
  }
}
