import type { MaybePromise, Receiver } from "@svc-webhooks/core";
import { assertOptions, assertReceiver, assertValid } from "@svc-webhooks/core/adapter";
import { webhooks as nodeWebhooks } from "@svc-webhooks/node";
import type { FastifyInstance, FastifyPluginAsync, onRequestAsyncHookHandler } from "fastify";

// Declarations of an app that exports the plugin name this type, which pnpm hides from it.
export type { FastifyPluginAsync } from "fastify";

const fix =
  "in Fastify, let the onRequest hook that reads the body skip this path, or keep the bytes in request.rawBody, or add " +
  "it in a plugin of its own, because hooks of the whole app run for all routes";

/** The parts of a receiver that the plugin uses. */
type Mountable = Pick<Receiver, "receive" | "drain">;

export interface WebhooksOptions {
  /**
   * The receiver, or a function that returns it or a promise of it. The function is called with the plugin's Fastify
   * instance while the app starts, so the receiver can use the app's decorators and its logger: `(app) =>
   * createReceiver({ logger: app.log, … })`. Errors: `invalid_option`.
   */
  readonly receiver: Mountable | ((app: FastifyInstance) => MaybePromise<Mountable>);
  /** The path of the route, below the `prefix` of the plugin. Default `"/webhooks"`. Errors: `invalid_option`. */
  readonly path?: string | undefined;
  /**
   * How long `app.close()` waits for pending deliveries after the server has closed, 0 … 2^31 − 1 milliseconds. Default
   * 10,000. Errors: `invalid_option`.
   */
  readonly drainMs?: number | undefined;
}

/**
 * Mounts a receiver in Fastify 5: `app.register(webhooks, { receiver })`. The route responds to all methods, and reads
 * the body before Fastify parses it, so content type parsers, `bodyLimit` and `preParsing` hooks do not apply to it.
 * `onRequest` hooks of the app run first, and the response has the headers that they set; `onResponse` hooks and Fastify's
 * request log run too. `app.close()` waits for pending deliveries, and only then closes plugins that
 * were registered before.
 *
 * Errors reject `app.ready()` and `app.listen()`: `FST_ERR_PLUGIN_VERSION_MISMATCH` with another version of Fastify, and
 * those below.
 *
 * @throws ConfigError `invalid_option`, `unknown_option`
 *
 * @example
 * ```ts
 * import { createReceiver } from "svc-webhooks";
 * import { webhooks } from "svc-webhooks/fastify";
 * import Fastify from "fastify";
 *
 * const app = Fastify({ logger: true });
 *
 * const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   on: { "*": (event) => app.log.info(event.type) },
 *   logger: app.log,
 * });
 *
 * app.register(webhooks, { receiver, path: "/webhooks" });
 *
 * await app.listen({ port: 3000 });
 * ```
 */
export const webhooks: FastifyPluginAsync<WebhooksOptions> = (app, options) => {
  assertValid(
    typeof (app as Partial<FastifyInstance> | null)?.addHook === "function",
    "app",
    "`webhooks` is a plugin of Fastify. Write app.register(webhooks, { receiver }).",
  );
  return mount(app, options);
};

async function mount(app: FastifyInstance, options: WebhooksOptions): Promise<void> {
  const { path, drainMs, receiver: source } = checked(options);
  const receiver = typeof source === "function" ? await source(app) : source;
  const { receive, drain } = Object(receiver) as Partial<Mountable>;
  // Names the mistake if this is an intake or a guard, which have `drain` but no `receive`.
  if (typeof drain === "function") assertReceiver(receiver);
  assertValid(
    typeof receive === "function" && typeof drain === "function",
    "receiver",
    "`receiver` must be the receiver that createReceiver() returns, or a function that returns it: " +
      "app.register(webhooks, { receiver: createReceiver({ secret, on }) }).",
  );
  const handle = nodeWebhooks(receiver, { fix });

  const takeOver: onRequestAsyncHookHandler = (request, reply) => {
    const { rawBody } = request as { readonly rawBody?: unknown };
    if (rawBody !== undefined && rawBody !== null) Object.assign(request.raw, { rawBody });
    // Hooks set headers on the reply, whose headers are not sent after `hijack`.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    // Fastify now runs neither parsers nor other hooks, except those for the end of the response.
    reply.hijack();
    return handle(request.raw, reply.raw);
  };
  // After the hooks that plugins such as a rate limit add to each route. No other route is in this plugin.
  app.addHook("onRoute", (route) => {
    route.onRequest = [route.onRequest ?? [], takeOver].flat();
  });
  // Fastify requires a handler.
  app.all(path, { handler() {} });

  app.addHook("onClose", async () => {
    const pending = await receiver.drain({ deadlineMs: drainMs });
    if (pending === 0) return;
    const text = `svc-webhooks: deliveries still pending after drainMs (${drainMs} ms): ${pending}.`;
    app.log.warn({ pending }, `${text} If the process exits, later attempts will run them.`);
  });
}

/** Returns the plugin's own options with their defaults. */
function checked(options: WebhooksOptions) {
  // Fastify passes its own options for the routes of a plugin to the plugin too.
  const fastifyOptions = ["prefix", "logLevel", "logSerializers"];
  assertOptions(options, ["receiver", "path", "drainMs", ...fastifyOptions]);
  const { receiver, path = "/webhooks", drainMs = 10_000 } = options;
  assertValid(
    typeof path === "string" && /^\/[^\s?#%]*$/.test(path),
    "path",
    "`path` must begin with a slash, and cannot contain a space, `?`, `#` or `%`, which no route matches.",
  );
  const longestMs = 2 ** 31 - 1;
  assertValid(
    Number.isInteger(drainMs) && drainMs >= 0 && drainMs <= longestMs,
    "drainMs",
    `\`drainMs\` must be a whole number of milliseconds from 0 to ${longestMs}.`,
  );
  return { receiver, path, drainMs };
}

// Fastify checks its version, as it does for `fastify-plugin`. Without `skip-override`, the plugin stays encapsulated.
Object.assign(webhooks, {
  [Symbol.for("plugin-meta")]: { name: "@svc-webhooks/fastify", fastify: "5.x" },
});
