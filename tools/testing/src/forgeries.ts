/* The forgeries of the receiver contract, for the command `svc-webhooks doctor`. This module is not a public API. */

export { receiverForgeries } from "./receiver/cases.js";
export {
  withSignature,
  type Change,
  type Forgery,
  type ForgeryFinding,
} from "./receiver/forgery.js";
export type { Sending, SentHeaders } from "./http-sender.js";
