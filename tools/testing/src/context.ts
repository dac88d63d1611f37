import type { DeliveryContext } from "@svc-webhooks/core";

/**
 * Returns a context with which a test can call a handler without a receiver. By default, it describes the first run of
 * an `email.sent` event, received at 2026-01-01T00:00:00Z, the time at which `fakeClock` starts. Its signal is not
 * aborted. The fields of `facts` override the defaults. A `type` or `deliveryId` in `facts` also appears in the default
 * `delivery`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import type { Handler } from "svc-webhooks";
 * import { context } from "@svc-webhooks/testing";
 *
 * const keys: string[] = [];
 * const handler: Handler = (event, { idempotencyKey }) => keys.push(idempotencyKey);
 *
 * handler({ type: "email.sent" }, context({ idempotencyKey: "key" }));
 * assert.deepEqual(keys, ["key"]);
 * ```
 */
export function context(facts?: Partial<DeliveryContext>): DeliveryContext {
  const type = facts?.type ?? "email.sent";
  const deliveryId = facts?.deliveryId ?? "dlv_1";
  const body = new TextEncoder().encode(JSON.stringify({ type }));
  const defaults: DeliveryContext = {
    receivedAt: Date.UTC(2026, 0, 1),
    bodyBytes: body.length,
    secretId: "default",
    deliveryId,
    type,
    eventIdSigned: false,
    idempotencyKey: "0".repeat(32),
    dedupe: "verified",
    run: 1,
    fence: 1,
    warnings: [],
    signal: new AbortController().signal,
    delivery: { method: "POST", headers: { "x-svc-delivery-id": deliveryId }, body },
  };
  // The cast is needed because TypeScript cannot check that `dedupe`, `run` and `fence` in `facts` fit together.
  return { ...defaults, ...facts } as DeliveryContext;
}
