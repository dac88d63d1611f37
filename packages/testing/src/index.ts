export { adapterContract } from "./adapter/contract.js";
export type { BodyMiddleware } from "./adapter/body-middleware.js";
export type { MountAdapter, MountedAdapter } from "./adapter/contract.js";
export { contractReceiver } from "./adapter/contract-receiver.js";
export { context } from "./context.js";
export { fakeClock } from "./fake-clock.js";
export type { FakeClock } from "./fake-clock.js";
export { signedDelivery, signedRequest } from "./signed-delivery.js";
export type {
  SignedDelivery,
  SignedDeliveryOptions,
  SignedRequestOptions,
} from "./signed-delivery.js";
export { storeContract } from "./store/contract.js";
export type { MakeStore, StoreContractOptions } from "./store/contract.js";
export type { StoreUnderTest } from "./store/probe.js";
export type { TestRunner } from "./runner.js";
