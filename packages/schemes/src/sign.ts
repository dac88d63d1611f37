export { hmacSigner } from "./sign/hmac-signers.js";
export { signers } from "./sign/signers.js";
export type { SchemeName } from "./sign/signers.js";
export type { Signer, SignOptions } from "./sign/signer.js";
export { testKeys } from "./sign/test-keys.js";
export type { TestKeys } from "./sign/test-keys.js";
export type { HmacOptions } from "./lib/hmac-options.js";
