/** A handler of events. */
export interface HandlerFragment {
  /** The types that it handles: `invoice.paid`, `invoice.*` or `*`. */
  readonly type: string;
  /** Its parameters: `{ data }`, and perhaps `{ deliveryId }` of the context. */
  readonly parameters: readonly string[];
  /** The expression that it returns, or its block. It logs with `console.log`. */
  readonly body: string;
}

/**
 * The part of a page's code that depends on the sender. A framework's fragment prints it as a call of `createReceiver`,
 * or as the options of a module.
 */
export interface ReceiverFragment {
  /** The declarations that import everything in `options` and `events`. */
  readonly imports: readonly string[];
  /** The options besides `secret` and `on`: `scheme: stripe<Stripe.Event>()`. */
  readonly options: readonly string[];
  /** The environment variable that has the secret. */
  readonly secretVariable: string;
  readonly handlers: readonly HandlerFragment[];
  /** The type of all events, if the scheme has it: `Stripe.Event`. */
  readonly events?: string | undefined;
  /** The path to which the sender sends. */
  readonly path: string;
  /** Whether the sender also sends GET requests. Default false. */
  readonly takesGet?: boolean;
}

/** The receiver of the service that the interface document describes. The pages of frameworks show it. */
export const serviceReceiver: ReceiverFragment = {
  imports: [],
  options: [],
  secretVariable: "SVC_WEBHOOK_SECRET",
  handlers: [{ type: "*", parameters: ["event"], body: "console.log(event.type)" }],
  path: "/webhooks",
};
