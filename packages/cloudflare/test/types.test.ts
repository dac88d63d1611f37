import type { DeliveryStore } from "@svc-webhooks/core";
import { expectTypeOf, test } from "vitest";
import type { DeliveryRecords, durableObjectStore } from "../src/index.js";

test("accepts a binding that is typed by its class", () => {
  const store = (
    namespace: DurableObjectNamespace<DeliveryRecords>,
    make: typeof durableObjectStore,
  ) => make(namespace, { shards: 4 });
  expectTypeOf(store).returns.toEqualTypeOf<DeliveryStore>();
});
