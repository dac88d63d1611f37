/** For authors of adapters and stores. */
export { assertOptions, assertReceiver, assertValid } from "./checks.js";
export { headerNames } from "./delivery.js";
export type { Delivery } from "./delivery.js";
export { codeOf, TransactionLostError } from "./errors.js";
export { toDelivery, toResponse } from "./web.js";
