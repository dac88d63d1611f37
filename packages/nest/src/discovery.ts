import { Reflector, type DiscoveryService } from "@nestjs/core";
import { nameOf, receiverToken } from "./receiver-token.js";
import { assertHandler, routesOf, type Route } from "./routes.js";

export type Provider = ReturnType<DiscoveryService["getProviders"]>[number];

/** A route and the provider that has its method. */
export interface ProviderRoute extends Route {
  readonly provider: Provider;
  readonly owner: Function;
}

/** Returns the name of a route's method, for error texts. */
export const methodOf = ({ owner, method }: ProviderRoute): string =>
  `${owner.name}.${String(method)}()`;

/** Returns the class of a provider that has routes. A test may replace the class by a value; its token is still the class. */
const ownerOf = ({ metatype, token }: Provider): Function | undefined =>
  [metatype, token].find((owner) => routesOf(owner).length > 0) as Function | undefined;

/** Returns the routes of all providers of the app. A class that several modules provide counts once. */
export function discoverRoutes(discovery: DiscoveryService): readonly ProviderRoute[] {
  const owners = new Map<Function, Provider>();
  for (const provider of discovery.getProviders()) {
    const owner = provider.isAlias ? undefined : ownerOf(provider);
    if (owner) owners.set(owner, provider);
  }
  return Array.from(owners, ([owner, provider]) =>
    routesOf(owner).map((route) => ({ ...route, provider, owner })),
  ).flat();
}

/** The keys under which Nest keeps guards, interceptors, pipes and filters. */
const enhancers = ["__guards__", "__interceptors__", "__pipes__", "__exceptionFilters__"];

/**
 * Throws if a method with `@OnWebhook()` would never run, or not as its decorators state. Called when all providers
 * exist.
 *
 * @throws ConfigError `invalid_handler`
 */
export function assertRoutes(discovery: DiscoveryService): void {
  const providers = discovery.getProviders();
  const tokens = new Set(providers.map(({ token }) => token));
  const routes = discoverRoutes(discovery);
  const reflector = new Reflector();
  for (const route of routes) {
    const { owner, method, receiver } = route;
    assertHandler(
      tokens.has(receiverToken(receiver)),
      "receiver",
      `${methodOf(route)} handles events of ${nameOf(receiver)}, but no WebhooksModule has this name. Correct the name, or import the module.`,
    );
    const handler = (owner.prototype as Record<PropertyKey, unknown>)[method];
    assertHandler(
      [owner, handler].every(
        (target) =>
          typeof target !== "function" || enhancers.every((key) => !reflector.get(key, target)),
      ),
      "type",
      `${methodOf(route)} or its class has a guard, an interceptor, a pipe or a filter. Nest does not run them for webhooks, so remove the decorator, or move the method to a class without it.`,
    );
  }
  const known = new Set(routes.map(({ owner }) => owner));
  for (const { instance } of providers) {
    // Not read from the instance, which may be a Proxy that refuses unknown keys.
    const { constructor: owner } = Object(Object.getPrototypeOf(Object(instance))) as {
      readonly constructor?: Function;
    };
    assertHandler(
      routesOf(owner).length === 0 || (owner && known.has(owner)),
      "providers",
      `${owner?.name} has methods with @OnWebhook(), but a factory or a value provides it under another token. List the class in \`providers\`, or use it as the token.`,
    );
  }
  for (const { metatype } of discovery.getControllers()) {
    assertHandler(
      routesOf(metatype).length === 0,
      "controllers",
      `${metatype?.name} is a controller and has methods with @OnWebhook(). Move them to a provider: guards of a controller do not apply to webhooks.`,
    );
  }
}
