/* The forgeries of the receiver contract, for `doctor` of `svc-webhooks`. They are not a public API. */

export { receiverForgeries } from "./receiver/cases.js";
export {
  withSignature,
  type Change,
  type Forgery,
  type ForgeryFinding,
} from "./receiver/forgery.js";
export type { Sending, SentHeaders } from "./http-sender.js";
