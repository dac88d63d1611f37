import type { FactoryProvider, ModuleMetadata } from "@nestjs/common";
import type { CommonOptions, EventSchemas, MaybePromise } from "@svc-webhooks/core";

/** The options of a receiver. Its handlers are methods with `@OnWebhook()`, and its name is that of the module. */
export interface WebhooksOptions extends Omit<CommonOptions, "name"> {
  /**
   * The exact path, such as `"/webhooks"`. A slash at the end makes no difference. A global prefix and versions do not
   * apply. Errors: `invalid_option`.
   */
  readonly path: string;
  /** Schemas by event type, as in the option of the same name of `createReceiver`. Default: none. */
  readonly events?: EventSchemas | undefined;
  /**
   * How long `app.close()` waits for pending deliveries, in milliseconds, 0 … 2^31 − 1. Default 10,000. Errors:
   * `invalid_option`.
   */
  readonly drainMs?: number | undefined;
}

/** The options of `WebhooksModule.forRootAsync`. */
export interface WebhooksAsyncOptions extends Pick<ModuleMetadata, "imports"> {
  /**
   * The receiver's name in `@OnWebhook()`, `@InjectReceiver()` and the store, as in the option of the same name of
   * `createReceiver`. Every receiver of an app but one needs a name. Default: none.
   */
  readonly name?: string | undefined;
  /** The providers that `useFactory` receives. Default: none. */
  readonly inject?: FactoryProvider["inject"] | undefined;
  /** Returns the receiver's options, or a promise of them. */
  // Nest passes the providers that `inject` lists.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly useFactory: (...injected: any[]) => MaybePromise<WebhooksOptions>;
}
