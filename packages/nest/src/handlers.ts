import type { DeliveryContext, EventFor, Handler, HandlerKey, SchemasOf } from "@svc-webhooks/core";
import { assertOptions } from "@svc-webhooks/core/adapter";
import { unnamed } from "./receiver-token.js";
import { addRoute } from "./routes.js";

/** A decorator for methods that accept `Event` and a `DeliveryContext`. */
export type HandlerDecorator<Event> = <
  Method extends (event: Event, context: DeliveryContext) => ReturnType<Handler>,
>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Returns a decorator like {@link OnWebhook} for one receiver, typed with a union of events, such as the union that the
 * sender's own package exports. The types are not checked at run time; the option `events` of the module does that.
 *
 * @param receiver the receiver's name; default: the receiver without a name
 *
 * @example
 * ```ts
 * import { Injectable } from "@nestjs/common";
 * import { handlerOf } from "svc-webhooks/nest";
 *
 * type BillingEvent =
 *   | { readonly type: "invoice.paid"; readonly amount: number }
 *   | { readonly type: "customer.deleted"; readonly customer: string };
 *
 * const OnBilling = handlerOf<BillingEvent>("billing");
 *
 * @Injectable()
 * export class Billing {
 *   @OnBilling("invoice.paid")
 *   paid(event: { readonly amount: number }) {
 *     console.log(event.amount);
 *   }
 * }
 * ```
 */
export const handlerOf =
  <Events extends { readonly type: string }>(
    receiver: string = unnamed,
  ): (<Key extends HandlerKey<SchemasOf<Events>>>(
    type: Key,
  ) => HandlerDecorator<EventFor<SchemasOf<Events>, Key>>) =>
  (type) =>
  (target, method) =>
    addRoute(target, { method, type, receiver });

/**
 * Makes a method of a provider the handler of an event type (`"email.sent"`), of a prefix (`"email.*"`) or of all other
 * types (`"*"`). Only the most specific handler runs. Nest's guards, interceptors, pipes and filters do not apply.
 *
 * @param options the name of the receiver; default: the receiver without a name
 *
 * @example
 * ```ts
 * import { Injectable } from "@nestjs/common";
 * import type { AnyEvent, DeliveryContext } from "svc-webhooks";
 * import { OnWebhook } from "svc-webhooks/nest";
 *
 * @Injectable()
 * export class Mail {
 *   @OnWebhook("email.*")
 *   log(event: AnyEvent, context: DeliveryContext) {
 *     console.log(event.type, context.deliveryId);
 *   }
 * }
 * ```
 */
export const OnWebhook = (
  type: string,
  options: { readonly receiver?: string | undefined } = {},
): HandlerDecorator<never> => {
  assertOptions(options, ["receiver"]);
  return handlerOf<never>(options.receiver)(type);
};
