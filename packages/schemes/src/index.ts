export type { Scheme, SchemeFor } from "@svc-webhooks/core";
export { discord } from "./discord.js";
export { github } from "./github.js";
export { hmac } from "./hmac.js";
export { linear } from "./linear.js";
export type { LinearClaim, LinearOptions } from "./linear.js";
export { meta } from "./meta.js";
export type { MetaOptions } from "./meta.js";
export { notion } from "./notion.js";
export type { NotionClaim, NotionOptions } from "./notion.js";
export { paddle } from "./paddle.js";
export { lemonSqueezy, zoom } from "./presets-hmac.js";
export {
  clerk,
  dodoPayments,
  gitlab,
  openai,
  polar,
  replicate,
  resend,
  svix,
} from "./presets-standard.js";
export { sendgrid } from "./sendgrid.js";
export { shopify } from "./shopify.js";
export { slack } from "./slack.js";
export { standardWebhooks } from "./standard-webhooks.js";
export type { StandardWebhooksOptions } from "./standard-webhooks.js";
export { stripe } from "./stripe.js";
export { woocommerce } from "./woocommerce.js";
export type { HeaderOrField, HmacOptions } from "./lib/hmac-options.js";
export type { HmacClaim, SigningKey } from "./lib/hmac-key.js";
export type { PublicKeyClaim } from "./lib/public-key.js";
export type { TimedOptions } from "./lib/time.js";
export type { TypedEvent } from "./lib/typed-event.js";
