import { Inject } from "@nestjs/common";

/** The name of a receiver whose module has no `name`. */
export const unnamed = "default";

/** Returns the name of a receiver, for error texts. */
export const nameOf = (receiver: string): string =>
  receiver === unnamed ? "the receiver without a name" : `the receiver "${receiver}"`;

/**
 * Returns the token by which Nest injects a receiver, for code outside of constructors:
 * `app.get<Receiver>(receiverToken("stripe"))`.
 *
 * @param name the receiver's name; default: the receiver without a name
 *
 * @example
 * ```ts
 * import { Injectable, Module } from "@nestjs/common";
 * import { NestFactory } from "@nestjs/core";
 * import type { Receiver } from "svc-webhooks";
 * import { OnWebhook, receiverToken, WebhooksModule } from "svc-webhooks/nest";
 *
 * @Injectable()
 * class Mail {
 *   @OnWebhook("*")
 *   log() {}
 * }
 *
 * const secret = process.env.SVC_WEBHOOK_SECRET ?? "";
 *
 * @Module({ imports: [WebhooksModule.forRoot({ path: "/webhooks", secret })], providers: [Mail] })
 * class AppModule {}
 *
 * const app = await NestFactory.createApplicationContext(AppModule);
 * const receiver = app.get<Receiver>(receiverToken());
 * console.log(await receiver.peek([{ deliveryId: "dlv_1" }]));
 * await app.close();
 * ```
 */
export const receiverToken = (name: string = unnamed): string => `svc-webhooks:${name}`;

/**
 * Injects a receiver, for example to resume parked deliveries: `constructor(@InjectReceiver() receiver: Receiver)`.
 *
 * @param name the receiver's name; default: the receiver without a name
 */
export const InjectReceiver = (name?: string): ParameterDecorator & PropertyDecorator =>
  Inject(receiverToken(name));
