export { readRawBody } from "./read-raw-body.js";
export { webhooks } from "./webhooks.js";
export type { NodeHandler, NodeOptions } from "./webhooks.js";
