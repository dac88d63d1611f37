import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpAdapterHost } from "@nestjs/core";
import type { Receiver } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { webhooks, type NodeHandler } from "@svc-webhooks/node";

const fix =
  "in NestJS, let the middleware or hook that reads bodies skip the receiver's path, or keep the bytes in request.rawBody";

/**
 * Mounts a receiver at a path in Nest's HTTP server. Called after Nest has added its body parsers, and before it adds
 * middleware of modules and routes.
 *
 * @param path without a slash at the end; empty for the root
 * @throws ConfigError `invalid_option` if Nest runs on neither Express nor Fastify
 */
export function mount(
  adapter: HttpAdapterHost["httpAdapter"],
  path: string,
  receiver: Pick<Receiver, "receive">,
): void {
  const handle = webhooks(receiver, { fix });
  const platform = adapter.getType();
  assertValid(
    platform === "express" || platform === "fastify",
    "path",
    "WebhooksModule can mount a receiver in Nest on Express and on Fastify only.",
  );
  if (platform === "express") mountInExpress(adapter.getInstance(), path, handle);
  else mountInFastify(adapter.getInstance(), path, handle);
}

interface ExpressRequest extends IncomingMessage {
  /** The path of the target, which may be an absolute URL. */
  readonly path: string;
}

interface ExpressApp {
  use(
    middleware: (request: ExpressRequest, response: ServerResponse, next: () => void) => void,
  ): unknown;
  readonly router: { readonly stack: { readonly name: string }[] };
}

/** Adds middleware in front of body parsers, and behind all other middleware that the app has added. */
function mountInExpress(app: ExpressApp, path: string, handle: NodeHandler): void {
  const withSlash = `${path}/`;
  app.use((request, response, next) => {
    if (request.path !== path && request.path !== withSlash) return next();
    void handle(request, response);
  });
  const { stack } = app.router;
  // Nest recognizes parsers by these names too. The name of a layer stays if OpenTelemetry wraps its function.
  const parser = stack.findIndex(({ name }) => /^(json|urlencoded|raw|text)Parser$/.test(name));
  const own = parser < 0 ? undefined : stack.pop();
  if (own) stack.splice(parser, 0, own);
}

interface FastifyApp {
  addHook(name: "onRoute", hook: (route: FastifyRoute) => void): unknown;
  all(url: string, route: object): unknown;
  readonly initialConfig: RouterOptions & { readonly routerOptions?: RouterOptions };
}

interface RouterOptions {
  readonly ignoreTrailingSlash?: boolean;
}

interface FastifyRoute {
  readonly handler: unknown;
  onRequest?: unknown;
}

interface FastifyRequest {
  readonly raw: IncomingMessage;
  readonly rawBody?: unknown;
}

interface FastifyReply {
  readonly raw: ServerResponse;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): unknown;
}

/** Adds a route that takes over the response before Fastify parses the body. */
function mountInFastify(app: FastifyApp, path: string, handle: NodeHandler): void {
  const takeOver = ({ raw, rawBody }: FastifyRequest, reply: FastifyReply) => {
    // Keeps the bytes of a hook that has read the body.
    if (rawBody !== undefined && rawBody !== null) Object.assign(raw, { rawBody });
    // Hooks set headers on the reply, whose headers are not sent after `hijack`.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    reply.hijack();
    return handle(raw, reply.raw);
  };
  // Fastify requires a handler.
  const route = { handler() {} };
  // After the hooks that plugins such as a rate limit add to each route.
  app.addHook("onRoute", (added) => {
    if (added.handler === route.handler) added.onRequest = [added.onRequest ?? [], takeOver].flat();
  });
  app.all(path || "/", route);
  const { ignoreTrailingSlash, routerOptions } = app.initialConfig;
  const isSame = ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash;
  if (path && !isSame) app.all(`${path}/`, route);
}
