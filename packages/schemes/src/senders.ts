export { hmacSigner } from "./senders/hmac-signers.js";
export { senders } from "./senders/table.js";
export type { BodyValues, Sender, SenderName, SignatureForm, TestKeys } from "./senders/sender.js";
export type { Signer, SignOptions } from "./senders/signer.js";
export type { HmacOptions } from "./lib/hmac-options.js";
