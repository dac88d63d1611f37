import type { DeliveryStore } from "@svc-webhooks/core";

/** A shared store each of whose calls reaches `store` through `around`. */
export function storeThrough(
  store: DeliveryStore,
  around: <Result>(call: () => Result | Promise<Result>) => Promise<Result>,
): DeliveryStore {
  return {
    shared: true,
    claim: (...given) => around(() => store.claim(...given)),
    complete: (...given) => around(() => store.complete(...given)),
    release: (...given) => around(() => store.release(...given)),
    extend: (...given) => around(() => store.extend(...given)),
    forget: (...given) => around(() => store.forget(...given)),
  };
}
