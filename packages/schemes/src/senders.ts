export type { Scheme } from "@svc-webhooks/core";
export { splitAtSignature } from "./senders/sender.js";
export { service } from "./senders/service.js";
export { senders } from "./senders/table.js";
export type { BodyValues, Sender, SenderName, SignatureForm, TestKeys } from "./senders/sender.js";
export type { Signer, SignOptions } from "./senders/signer.js";
