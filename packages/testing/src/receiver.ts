export { receiverContract } from "./receiver/contract.js";
export type {
  MountedReceiver,
  MountReceiver,
  ReceiverContractOptions,
  SkippingTestRunner,
} from "./receiver/contract.js";
