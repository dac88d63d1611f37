export { receiverContract } from "./receiver/contract.js";
export type { ReceiverContractOptions, SkippingTestRunner } from "./receiver/contract.js";
export type { MountedReceiver, MountReceiver } from "./receiver/mount.js";
