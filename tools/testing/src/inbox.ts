export { inboxContract } from "./inbox/contract.js";
export type { InboxContractOptions, MakeInbox } from "./inbox/contract.js";
export { memoryInbox } from "./inbox/memory-inbox.js";
export type { MemoryInbox, MemoryInboxOptions } from "./inbox/memory-inbox.js";

export type { MemoryJobOptions } from "./inbox/memory-queue.js";
export type { MemoryWorker } from "./inbox/memory-worker.js";
export type {
  InboxConnection,
  InboxSettings,
  InboxUnderTest,
  InboxWorker,
} from "./inbox/subject.js";
export type { TestRunner } from "./runner.js";
