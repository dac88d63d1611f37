import type { Logger } from "@nestjs/common";
import { ContextIdFactory, type DiscoveryService, type ModuleRef } from "@nestjs/core";
import {
  createReceiver,
  type DeliveryContext,
  type Handler,
  type HandlerResult,
  type Receiver,
} from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { discoverRoutes, methodOf, type ProviderRoute } from "./discovery.js";
import type { WebhooksOptions } from "./options.js";
import { nameOf, unnamed } from "./receiver-token.js";
import { assertHandler } from "./routes.js";

/**
 * Creates the receiver whose handlers are the methods of providers.
 *
 * @throws ConfigError with any of its codes
 */
export function createNestReceiver(
  name: string | undefined,
  logger: Logger,
  options: WebhooksOptions,
  discovery: DiscoveryService,
  modules: ModuleRef,
): Receiver {
  assertValid(
    Object(options) === options,
    "useFactory",
    "`useFactory` must return the options of a receiver, with its `path`.",
  );
  assertValid(
    !("on" in options),
    "on",
    "WebhooksModule has no option `on`: handlers are methods of providers with @OnWebhook().",
  );
  assertValid(
    !("name" in options),
    "name",
    "`useFactory` cannot return `name`, which is an option of forRootAsync itself.",
  );
  const { path: _path, drainMs: _drainMs, ...settings } = options;
  const routes = new Map<string, ProviderRoute>();
  const receiver = name ?? unnamed;
  for (const route of discoverRoutes(discovery)) {
    if (route.receiver !== receiver) continue;
    const { type } = route;
    const other = routes.get(type);
    assertHandler(
      !other,
      `on[${JSON.stringify(type)}]`,
      `${other && methodOf(other)} and ${methodOf(route)} both handle "${type}" of ${nameOf(receiver)}. An event runs one handler: remove one of the decorators, and call that method from the other.`,
    );
    routes.set(type, route);
  }
  assertHandler(
    routes.size > 0,
    "on",
    `No provider has a handler for ${nameOf(receiver)}. Decorate a method of a provider with @OnWebhook(), and list its class in the \`providers\` of a module that the app imports. Handlers in controllers, and in classes that only a factory creates, are not found.`,
  );
  return createReceiver({
    ...settings,
    logger: settings.logger ?? {
      info: (text) => logger.log(text),
      warn: (text) => logger.warn(text),
      error: (text) => logger.error(text),
    },
    ...(name !== undefined && { name }),
    on: Object.fromEntries(
      Array.from(routes, ([type, route]) => [type, handlerFor(route, modules)]),
    ),
  });
}

type Method = (event: unknown, context: DeliveryContext) => HandlerResult;

/** Returns a handler that calls a method. A request-scoped or transient provider is created for each event. */
function handlerFor({ provider, method }: ProviderRoute, modules: ModuleRef): Handler<unknown> {
  const token = provider.token as string;
  return (event, context) => {
    // Throws if a test has replaced the provider by one without the method.
    const call = (instance: unknown) =>
      Reflect.apply((instance as Record<PropertyKey, Method>)[method] as Method, instance, [
        event,
        context,
      ]);
    if (provider.isDependencyTreeStatic() && !provider.isTransient) return call(provider.instance);
    return modules.resolve(token, ContextIdFactory.create(), { strict: false }).then(call);
  };
}
