export { faultyStore } from "./faulty-store/faulty-store.js";
export type { Fault, FaultPlan, Faults, FaultyStoreOptions } from "./faulty-store/faulty-store.js";
