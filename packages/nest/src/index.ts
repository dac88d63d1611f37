// Declarations of an app that exports a module name this type, which pnpm hides from it.
export type { DynamicModule } from "@nestjs/common";
export { handlerOf, OnWebhook } from "./handlers.js";
export type { HandlerDecorator } from "./handlers.js";
export { InjectReceiver, receiverToken } from "./receiver-token.js";
export { WebhooksModule } from "./module.js";
export type { WebhooksAsyncOptions, WebhooksOptions } from "./options.js";
