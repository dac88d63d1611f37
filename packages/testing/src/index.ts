export { adapterContract } from "./adapter/contract.js";
export type {
  BodyMiddleware,
  MountAdapter,
  MountedAdapter,
  TestRunner,
} from "./adapter/contract.js";
export { contractReceiver } from "./adapter/contract-receiver.js";
export { fakeClock } from "./fake-clock.js";
export type { FakeClock } from "./fake-clock.js";
export { signedDelivery, signedRequest } from "./signed-delivery.js";
export type {
  SignedDelivery,
  SignedDeliveryOptions,
  SignedRequestOptions,
} from "./signed-delivery.js";
export { storeContract } from "./store/contract.js";
export type { MakeStore, StoreContractOptions, StoreUnderTest } from "./store/contract.js";
