/** A handler that logs a part of its event. */
export interface HandlerFragment {
  /** The types that it handles: `invoice.paid`, `invoice.*` or `*`. */
  readonly type: string;
  /** The logged expression, in which the event is `event`. */
  readonly logs: string;
  /** The type of `event` in TypeScript, for the frameworks in which handlers are methods: `Stripe.InvoicePaidEvent`. */
  readonly event: string;
  /** The declarations that import that type. */
  readonly imports: readonly string[];
}

/**
 * The part of a page's code that depends on the sender. A framework's fragment prints it as a call of `createReceiver`,
 * or as the options of a module.
 */
export interface ReceiverFragment {
  /** The declarations that import everything in `options`. */
  readonly imports: readonly string[];
  /** The options besides `secret` and `on`: `scheme: stripe<Stripe.Event>()`. */
  readonly options: readonly string[];
  /** The environment variable that has the secret. */
  readonly secretVariable: string;
  readonly handlers: readonly HandlerFragment[];
  /** The type of all events, which `handlerOf` of NestJS accepts. Default: handlers with `@OnWebhook()`. */
  readonly events?: string;
  /** The path to which the sender sends. */
  readonly path: string;
}

/** The receiver of the service that the interface document describes. The pages of frameworks show it. */
export const serviceReceiver: ReceiverFragment = {
  imports: [],
  options: [],
  secretVariable: "SVC_WEBHOOK_SECRET",
  handlers: [
    {
      type: "*",
      logs: "event.type",
      event: "AnyEvent",
      imports: ['import type { AnyEvent } from "svc-webhooks";'],
    },
  ],
  path: "/webhooks",
};
