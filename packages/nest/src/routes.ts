import { ConfigError } from "@svc-webhooks/core";

/** A method that handles events. */
export interface Route {
  readonly method: string | symbol;
  readonly type: string;
  /** The receiver's name. */
  readonly receiver: string;
}

interface HandlerClass {
  [routesKey]?: readonly Route[];
}

/** The key of a class's routes. Registered globally, because ESM and CommonJS may each load a copy of this package. */
const routesKey = Symbol.for("svc-webhooks.routes");

/**
 * Adds a route to the class of a prototype.
 *
 * @throws ConfigError `invalid_handler` if `target` is not a prototype, or for a type or receiver that is not text
 */
export function addRoute(target: object, route: Route): void {
  for (const key of ["type", "receiver"] as const) {
    const value: unknown = route[key];
    assertHandler(
      typeof value === "string" && value !== "" && value.trim() === value,
      key,
      `\`${key}\` of a handler must be text without spaces around it${value === undefined ? ", and is undefined, perhaps because modules import each other" : ""}.`,
    );
  }
  // A standard decorator receives the method itself, and the decorator of a static method the class.
  assertHandler(
    typeof target === "object",
    "type",
    `The method that handles "${route.type}" is static, or was compiled without \`experimentalDecorators\`, which Nest needs. Set it in tsconfig.json, and make the method an instance method.`,
  );
  // Kept by the class and not by the method, which other decorators may replace.
  const owner = target.constructor as HandlerClass;
  owner[routesKey] = [...(owner[routesKey] ?? []), route];
}

/** Returns the routes of a class and its base classes. A class may decorate a method that its base class decorates too. */
export function routesOf(owner: unknown): readonly Route[] {
  const routes = typeof owner === "function" ? (owner as HandlerClass)[routesKey] : undefined;
  if (!Array.isArray(routes)) return [];
  const isSame = (a: Route, b: Route) =>
    a.method === b.method && a.type === b.type && a.receiver === b.receiver;
  return (routes as readonly Route[]).filter(
    (route, index, all) => all.findIndex((other) => isSame(other, route)) === index,
  );
}

/**
 * Throws unless `ok`.
 *
 * @throws ConfigError `invalid_handler`
 */
export function assertHandler(ok: unknown, option: string, text: string): asserts ok {
  if (!ok) throw new ConfigError("invalid_handler", option, text);
}
