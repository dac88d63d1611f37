export { storeContract } from "./store/contract.js";
export type { MakeStore, StoreContractOptions } from "./store/contract.js";
export type { StoreUnderTest } from "./store/probe.js";
export type { TestRunner } from "./runner.js";
