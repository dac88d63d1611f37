export { createSandbox } from "./sandbox.js";
export type { Sandbox } from "./sandbox.js";
export type { SandboxOptions } from "./options.js";
export type { ClockMode, DueItem, SandboxClock } from "./clock.js";
export type { Handler } from "./network/in-process.js";
export type { Listening } from "./http/server.js";
export type { AssumptionId, EmitMap, EventFacts, Occasion } from "./assumptions.js";
export type { AssumptionState } from "./settings.js";
export type { Address, Lookup } from "./network/url-rule.js";
