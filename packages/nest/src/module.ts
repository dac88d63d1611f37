import { Inject, Logger, Module, Optional } from "@nestjs/common";
import type { DynamicModule } from "@nestjs/common";
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, ModuleRef } from "@nestjs/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { Mounted, mountedToken } from "./mounted.js";
import type { WebhooksAsyncOptions, WebhooksOptions } from "./options.js";
import { createNestReceiver } from "./receiver.js";
import { receiverToken, unnamed } from "./receiver-token.js";

type Injected =
  ConstructorParameters<typeof Mounted> extends [string, Logger, ...infer Rest] ? Rest : never;

let modules = 0;

/**
 * Receives webhooks in Nest, on Express or Fastify. Import `forRoot` or `forRootAsync` once for each receiver. Deliveries
 * reach the receiver before body parsers do, so the app needs no `rawBody`. Guards, interceptors, pipes and filters do
 * not apply. Without an HTTP server, as in `NestFactory.createApplicationContext`, the receiver can be injected and has
 * no path.
 *
 * `app.close()` waits for pending deliveries before Nest destroys the modules in `imports`. Configuration errors reject
 * `NestFactory.create` or `app.init` with a ConfigError, unless Nest ends the process (its option `abortOnError`).
 */
export class WebhooksModule {
  readonly #mounted: Mounted;

  constructor(mounted?: Mounted) {
    assertValid(
      mounted,
      "imports",
      "Import `WebhooksModule.forRoot(options)` or `WebhooksModule.forRootAsync(options)`, not the class.",
    );
    this.#mounted = mounted;
  }

  /**
   * Creates a module from options that are known when the app is built.
   *
   * @param options the options of a receiver, with its name
   */
  static forRoot(options: WebhooksOptions & Pick<WebhooksAsyncOptions, "name">): DynamicModule {
    const { name, ...settings } = Object(options) as typeof options;
    return WebhooksModule.forRootAsync({ name, useFactory: () => settings });
  }

  /**
   * Creates a module from options that a factory returns, for example from a `ConfigService`.
   *
   * @throws ConfigError `unknown_option`, `invalid_option`
   */
  static forRootAsync(options: WebhooksAsyncOptions): DynamicModule {
    assertOptions(options, ["name", "imports", "inject", "useFactory"]);
    const { name, imports = [], inject = [], useFactory } = options;
    assertValid(typeof useFactory === "function", "useFactory", "`useFactory` must be a function.");
    // Unique, because Nest's `deep-hash` algorithm would take two modules with the same name for one.
    const settings = `svc-webhooks:options:${(modules += 1)}`;
    const token = receiverToken(name);
    const logger = new Logger(name === undefined ? "Webhooks" : `Webhooks ${name}`);
    const receiver: DynamicModule = {
      module: ReceiverModule,
      global: true,
      imports: [...imports, DiscoveryModule],
      providers: [
        { provide: settings, inject, useFactory },
        {
          provide: token,
          inject: [settings, DiscoveryService, ModuleRef],
          useFactory: createNestReceiver.bind(undefined, name, logger),
        },
      ],
      exports: [settings, token],
    };
    return {
      module: WebhooksModule,
      imports: [receiver, DiscoveryModule],
      providers: [
        {
          provide: mountedToken,
          inject: [settings, token, DiscoveryService, HttpAdapterHost],
          useFactory: (...injected: Injected) => new Mounted(name ?? unnamed, logger, ...injected),
        },
      ],
    };
  }

  /** Called by Nest while it adds middleware. */
  configure(): void {
    assertValid(
      #mounted in this,
      "inject",
      "`inject` of WebhooksModule.forRootAsync lists a provider that Nest creates for each request, but a receiver is created once. Inject a provider with the default scope.",
    );
    this.#mounted.mount();
  }

  /** Called by Nest. */
  onModuleInit(): void {
    this.#mounted.check();
  }

  /** Called by Nest. */
  async onModuleDestroy(): Promise<void> {
    await this.#mounted.drain();
  }
}

// Nest's decorators as functions, because decorator syntax is not erasable.
Module({})(WebhooksModule);
Inject(mountedToken)(WebhooksModule, undefined, 0);
Optional()(WebhooksModule, undefined, 0);

/**
 * Global, so that a receiver can be injected in all modules. Nest destroys a global module last, so the module that
 * drains the receiver is another one. Nest identifies a module by a class.
 */
// oxlint-disable-next-line typescript/no-extraneous-class
class ReceiverModule {}
Module({})(ReceiverModule);
