export { createSandbox } from "./sandbox.js";
export type { Sandbox } from "./sandbox.js";
export type { SandboxOptions } from "./options.js";
export type { ClockMode, DueItem, SandboxClock } from "./clock.js";
export type { Handler } from "./network/in-process.js";
export type { Listening } from "./http/server.js";
export type { AssumptionId, EmitMap, EventFacts, Occasion } from "./assumptions/table.js";
export type { AssumptionState } from "./assumptions/ledger.js";
export type { Address, Lookup } from "./network/url-rule.js";
