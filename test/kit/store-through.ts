import type { DeliveryStore, StoreCall } from "@svc-webhooks/core";

/** Returns a shared store, each of whose calls reaches `store` through `around`. */
export function storeThrough(
  store: DeliveryStore,
  around: <Result>(send: () => Result | Promise<Result>, call: StoreCall) => Promise<Result>,
): DeliveryStore {
  return {
    shared: true,
    claim: (...given) => around(() => store.claim(...given), given[2]),
    complete: (...given) => around(() => store.complete(...given), given[2]),
    release: (...given) => around(() => store.release(...given), given[2]),
    extend: (...given) => around(() => store.extend(...given), given[2]),
    forget: (...given) => around(() => store.forget(...given), given[1]),
    ...(store.peek && { peek: (keys, call) => around(() => store.peek?.(keys, call) ?? [], call) }),
  };
}
