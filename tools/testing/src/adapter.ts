export { adapterContract } from "./adapter/contract.js";
export type { BodyMiddleware } from "./adapter/body-middleware.js";
export type { MountAdapter, MountedAdapter } from "./adapter/contract.js";
export type { TestRunner } from "./runner.js";
