export { durableObjectStore } from "./durable-object-store.js";
export type {
  DeliveryRecordsNamespace,
  DeliveryRecordsStub,
  DurableObjectStoreOptions,
} from "./durable-object-store.js";
export { DeliveryRecords } from "./records.js";
