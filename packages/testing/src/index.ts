export { context } from "./context.js";
export { fakeClock } from "./fake-clock.js";
export type { FakeClock } from "./fake-clock.js";
export { signedDelivery, signedRequest } from "./signed-delivery.js";
export type {
  SignedDelivery,
  SignedDeliveryOptions,
  SignedRequestOptions,
} from "./signed-delivery.js";
