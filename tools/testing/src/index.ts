export { context } from "./context.js";
export { fakeClock } from "./fake-clock.js";
export type { FakeClock } from "./fake-clock.js";
export { fixture } from "./fixture.js";
export type { FixtureOverrides, Fixtures } from "./fixture.js";
export type { SignedDelivery } from "./delivery.js";
export type { SchemeDeliveryOptions } from "./scheme-delivery.js";
export { signedDelivery, signedRequest } from "./signed-delivery.js";
export type {
  SchemeRequestOptions,
  SignedDeliveryOptions,
  SignedRequestOptions,
} from "./signed-delivery.js";
export { tamper } from "./tamper.js";
