export { signedDelivery, signedRequest } from "./schemes/signed-delivery.js";
export type { SchemeDeliveryOptions, SchemeRequestOptions } from "./schemes/signed-delivery.js";
