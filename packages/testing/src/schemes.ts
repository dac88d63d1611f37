export { signers } from "@svc-webhooks/schemes/sign";
export type { SchemeName, Signer, SignOptions, TestKeys } from "@svc-webhooks/schemes/sign";
export { signedDelivery, signedRequest } from "./schemes/signed-delivery.js";
export type { SchemeDeliveryOptions, SchemeRequestOptions } from "./schemes/signed-delivery.js";
export { testKeys } from "./schemes/test-keys.js";
