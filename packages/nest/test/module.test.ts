import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { text as textOf } from "node:stream/consumers";
import {
  Body,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Post,
  Scope,
  UseGuards,
  type CanActivate,
  type INestApplication,
  type ModuleMetadata,
} from "@nestjs/common";
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { memoryStore, type DeliveryContext, type Receiver } from "@svc-webhooks/core";
import { outcomeIn } from "@svc-webhooks/kit/clients";
import { stripe } from "@svc-webhooks/schemes";
import { signedDelivery } from "@svc-webhooks/testing";
import {
  handlerOf,
  InjectReceiver,
  OnWebhook,
  receiverToken,
  WebhooksModule,
} from "@svc-webhooks/nest";
import type * as nest from "@svc-webhooks/nest";
import type { FastifyInstance, FastifyReply } from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { create, listen, options, platforms, send } from "./nest-app.js";

/** The calls of handlers and others, in their order. */
let calls: string[] = [];

@Injectable()
class Mail {
  @OnWebhook("email.*")
  mail(event: { readonly type: string }) {
    calls.push(event.type);
  }
}

interface ExpressApp {
  use: (...layers: unknown[]) => void;
  readonly router: { readonly stack: { handle: (...call: unknown[]) => unknown }[] };
}

type Middleware = (request: never, response: never, next: () => void) => void;

/** Returns middleware that adds a call. */
const noted =
  (text: string): Middleware =>
  (_request, _response, next) => {
    calls.push(text);
    next();
  };

@Controller()
class Other {
  @Post("other")
  other(@Body() body: unknown) {
    return body;
  }

  @Get("other")
  read() {
    return { type: "read" };
  }
}

describe.each(platforms)("on $platform", ({ platform, adapter }) => {
  type NestOptions = Parameters<typeof create>[2];

  /** Serves an app with the receiver of `options`. Resolves to its origin. */
  async function serve(
    metadata: ModuleMetadata = {},
    nest: NestOptions = {},
    prepare: (app: INestApplication) => unknown = () => {},
  ): Promise<string> {
    calls = [];
    const all = {
      controllers: [Other],
      providers: [Mail],
      ...metadata,
      imports: [WebhooksModule.forRoot(options), ...(metadata.imports ?? [])],
    };
    const app = await create(all, adapter(), nest);
    await prepare(app);
    return listen(app);
  }

  /** Sends JSON to a route of the app. */
  const sendOther = async (origin: string, path = "/other") => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${origin}${path}`, { method: "POST", body: '{"a":1}', headers });
    return [response.status, await response.text()];
  };

  test("processes a delivery at the exact path, with or without a slash and a query", async () => {
    const origin = await serve();
    for (const path of ["/webhooks", "/webhooks/", "/webhooks?a=/b", "/webhooks/?a"]) {
      expect(await send(`${origin}${path}`, "email.sent")).toBe("processed");
    }
    for (const path of ["/webhooks//", "/webhooks/a", "/webhook", "/webhooksa", "/a/webhooks"]) {
      expect(await send(`${origin}${path}`, "email.sent")).toBe(404);
    }
    expect(calls).toHaveLength(4);
    expect((await fetch(`${origin}/webhooks`)).status).toBe(405);
    expect(await send(`${origin}/webhooks`, "other")).toBe("ignored");
    const forged = await signedDelivery({ type: "email.sent" }, { secret: "whsec_wrong" });
    expect((await fetch(`${origin}/webhooks`, forged)).status).toBe(401);
  });

  test("a receiver at the root leaves other paths to the app", async () => {
    const metadata = {
      imports: [WebhooksModule.forRoot({ ...options, path: "/" })],
      controllers: [Other],
      providers: [Mail],
    };
    const origin = await listen(await create(metadata, adapter()));
    expect(await send(origin, "email.sent")).toBe("processed");
    expect(await send(`${origin}/?a`, "email.sent")).toBe("processed");
    expect(await sendOther(origin)).toEqual([201, '{"a":1}']);
  });

  test("a global prefix and versions do not apply, and other routes parse JSON", async () => {
    const origin = await serve({}, {}, (app) => {
      app.setGlobalPrefix("api");
      app.enableVersioning({ type: 0, defaultVersion: "1" });
    });
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(await send(`${origin}/api/v1/webhooks`, "email.sent")).toBe(404);
    expect(await sendOther(origin, "/api/v1/other")).toEqual([201, '{"a":1}']);
  });

  test.each<[string, NestOptions, (app: INestApplication) => unknown]>([
    ["bodyParser: false", { bodyParser: false }, () => {}],
    ["rawBody: true", { rawBody: true }, () => {}],
    ["its own body parser", {}, (app) => useBodyParser(app)],
    ["init() before listen()", {}, (app) => app.init()],
    ["CORS", { cors: true }, () => {}],
  ])("processes a delivery of an app with %s", async (_title, nest, prepare) => {
    const origin = await serve({}, nest, prepare);
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect((await sendOther(origin))[0]).toBe(201);
  });

  const useBodyParser = (app: INestApplication) => {
    const typed = app as INestApplication & {
      useBodyParser(type: string, parserOptions: object): unknown;
    };
    if (platform === "Express") typed.useBodyParser("json", { limit: "10mb" });
    else typed.useBodyParser("application/json", { bodyLimit: 1_000 });
  };

  test("middleware that the app adds runs before the receiver", async () => {
    const origin = await serve({}, {}, (app) => app.use(noted("helmet")));
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(calls).toEqual(["helmet", "email.sent"]);
  });

  test("the receiver is in front of body parsers whose functions were replaced, as OpenTelemetry does", async () => {
    const origin = await serve({}, {}, (app) => {
      if (platform === "Fastify") return;
      const express = app.getHttpAdapter().getInstance() as ExpressApp;
      const { use } = express;
      express.use = (...layers) => {
        use.apply(express, layers);
        const layer = express.router.stack.at(-1);
        const handle = layer?.handle;
        if (layer && handle)
          layer.handle = function patched(...call) {
            return handle(...call);
          };
      };
    });
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect((await sendOther(origin))[0]).toBe(201);
  });

  test("a target may be an absolute URL", async () => {
    const origin = await serve();
    const { method, headers, body } = await signedDelivery({ type: "email.sent" });
    const { port } = new URL(origin);
    const client = request({
      port,
      path: `http://example.com/webhooks`,
      method,
      headers: Object.fromEntries(new Headers(headers)),
    });
    client.end(body);
    const [response] = (await once(client, "response")) as [IncomingMessage];
    expect(outcomeIn(await textOf(response))).toBe("processed");
  });

  test("global guards, interceptors, pipes and filters do not apply", async () => {
    class Denies {
      canActivate() {
        calls.push("guard");
        return false;
      }
      intercept() {
        throw new Error("intercepted");
      }
      transform() {
        throw new Error("transformed");
      }
      catch() {
        calls.push("filter");
      }
    }
    @Injectable()
    class Fails {
      @OnWebhook("fails")
      fails() {
        throw new Error("no");
      }
    }
    const origin = await serve({
      providers: [
        Mail,
        Fails,
        ...[APP_GUARD, APP_INTERCEPTOR, APP_PIPE, APP_FILTER].map((provide) => ({
          provide,
          useClass: Denies,
        })),
      ],
    });
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(await send(`${origin}/webhooks`, "fails")).toBe("handler_failed");
    expect(calls).toEqual(["email.sent"]);
  });

  test("several receivers in one store have their own names, secrets, schemes and handlers", async () => {
    @Injectable()
    class Orders {
      readonly paid: string[] = [];
    }
    @Module({ providers: [Orders], exports: [Orders] })
    class OrdersModule {}

    type BillingEvent =
      | { readonly id: string; readonly type: "invoice.paid"; readonly amount: number }
      | { readonly id: string; readonly type: "customer.deleted"; readonly customer: string };
    const OnBilling = handlerOf<BillingEvent>("billing");
    @Injectable()
    class Billing {
      readonly receiver: Receiver;
      readonly #orders: Orders;
      constructor(@Inject(Orders) orders: Orders, @InjectReceiver("billing") receiver: Receiver) {
        this.#orders = orders;
        this.receiver = receiver;
      }

      @OnBilling("invoice.paid")
      paid(event: { readonly amount: number }, { deliveryId }: DeliveryContext) {
        this.#orders.paid.push(`${deliveryId}: ${event.amount}`);
      }
    }
    @Injectable()
    class Named {
      @OnWebhook("email.*", { receiver: "mail" })
      named(event: { readonly type: string }) {
        calls.push(`mail: ${event.type}`);
      }
    }
    calls = [];
    const store = memoryStore();
    const metadata = {
      imports: [
        OrdersModule,
        WebhooksModule.forRootAsync({
          name: "billing",
          imports: [OrdersModule],
          inject: [Orders],
          useFactory: async (orders: Orders) => {
            orders.paid.push("configured");
            return { path: "/billing", scheme: stripe(), secret: "whsec_billing", store };
          },
        }),
        WebhooksModule.forRoot({ name: "mail", path: "/mail", secret: "whsec_mail", store }),
        WebhooksModule.forRoot({ ...options, store }),
      ],
      providers: [Billing, Mail, Named],
    };
    const app = await create(metadata, adapter());
    const origin = await listen(app);
    const event = { id: "evt_1", type: "invoice.paid", amount: 7 };
    for (const outcome of ["processed", "duplicate"]) {
      const delivery = await signedDelivery(event, { scheme: "stripe", secret: "whsec_billing" });
      const response = await fetch(`${origin}/billing`, delivery);
      expect(await response.text()).toContain(`"${outcome}"`);
    }
    expect(app.get(Orders).paid).toEqual(["configured", "evt_1: 7"]);
    expect(app.get(Billing).receiver).toBe(app.get(receiverToken("billing")));
    // The same delivery id is another record for a receiver with another name.
    const one = { deliveryId: "dlv_1", secret: "whsec_mail" };
    expect(await send(`${origin}/mail`, "email.sent", one)).toBe("processed");
    expect(await send(`${origin}/mail`, "email.sent", one)).toBe("duplicate");
    expect(await send(`${origin}/webhooks`, "email.sent", { deliveryId: "dlv_1" })).toBe(
      "processed",
    );
    expect(calls).toEqual(["mail: email.sent", "email.sent"]);
    expect(await send(`${origin}/webhooks`, "email.sent", one)).toBe("signature_mismatch");
  });

  test("a receiver can be injected in a module that does not import it", async () => {
    @Injectable()
    class Operator {
      readonly receiver: Receiver;
      constructor(@InjectReceiver() receiver: Receiver) {
        this.receiver = receiver;
      }
    }
    @Module({ providers: [Operator] })
    class OperatorModule {}
    const metadata = {
      imports: [OperatorModule, WebhooksModule.forRoot(options)],
      providers: [Mail],
    };
    const app = await create(metadata, adapter());
    await listen(app);
    expect(app.get(Operator).receiver).toBe(app.get(receiverToken()));
  });

  test.each([
    ["request-scoped", Scope.REQUEST],
    ["transient", Scope.TRANSIENT],
  ])("a %s provider is created for each event", async (_title, scope) => {
    let created = 0;
    @Injectable()
    class Orders {}
    @Injectable({ scope })
    class Scoped {
      readonly #orders: Orders;
      readonly #number: number;
      constructor(@Inject(Orders) orders: Orders) {
        this.#orders = orders;
        this.#number = created += 1;
      }
      @OnWebhook("scoped")
      run() {
        calls.push(`${this.#orders instanceof Orders} ${this.#number}`);
      }
    }
    const origin = await serve({ providers: [Orders, Scoped] });
    const before = created;
    expect(await send(`${origin}/webhooks`, "scoped")).toBe("processed");
    expect(await send(`${origin}/webhooks`, "scoped")).toBe("processed");
    expect(calls).toEqual([`true ${before + 1}`, `true ${before + 2}`]);
  });

  test("middleware of modules runs after the receiver on Express, and before it on Fastify", async () => {
    @Module({})
    class Consumes {
      configure(consumer: { apply(middleware: Middleware): { forRoutes(path: string): unknown } }) {
        consumer.apply(noted("module")).forRoutes("*path");
      }
    }
    for (const bodyParser of [true, false]) {
      const origin = await serve({ imports: [Consumes] }, { bodyParser });
      expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
      expect(calls).toEqual(platform === "Express" ? ["email.sent"] : ["module", "email.sent"]);
    }
  });

  test("one module can be imported twice", async () => {
    const Webhooks = WebhooksModule.forRoot(options);
    @Module({ imports: [Webhooks] })
    class Feature {}
    calls = [];
    const app = await create({ imports: [Feature, Webhooks], providers: [Mail] }, adapter());
    const origin = await listen(app);
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(calls).toEqual(["email.sent"]);
  });

  test("a handler class that two modules list handles an event once", async () => {
    @Module({ providers: [Mail] })
    class Feature {}
    const origin = await serve({ imports: [Feature] });
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(calls).toEqual(["email.sent"]);
  });

  test("two apps in one process have their own receivers and records", async () => {
    const origins = [await serve(), await serve()];
    for (const origin of origins) {
      expect(await send(`${origin}/webhooks`, "email.sent", { deliveryId: "dlv_1" })).toBe(
        "processed",
      );
    }
    expect(calls).toEqual(["email.sent", "email.sent"]);
  });

  test("a guard on another method of the app is allowed", async () => {
    class Denies implements CanActivate {
      canActivate() {
        return false;
      }
    }
    @Controller("guarded")
    class Guarded {
      @Get()
      @UseGuards(Denies)
      read() {}
    }
    const origin = await serve({ controllers: [Guarded] });
    expect((await fetch(`${origin}/guarded`)).status).toBe(403);
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
  });
});

test("an app may load this package as an ES module and as CommonJS", async () => {
  const commonjs = createRequire(import.meta.url)("@svc-webhooks/nest") as typeof nest;
  expect(commonjs.WebhooksModule).not.toBe(WebhooksModule);
  calls = [];
  @Injectable()
  class Handlers {
    @commonjs.OnWebhook("a")
    a() {
      calls.push("a");
    }
  }
  const imports = [WebhooksModule.forRoot(options)];
  const app = await create({ imports, providers: [Handlers] }, new ExpressAdapter());
  const origin = await listen(app);
  expect(await send(`${origin}/webhooks`, "a")).toBe("processed");
  expect(calls).toEqual(["a"]);
  expect(app.get(commonjs.receiverToken())).toBe(app.get(receiverToken()));
});

test("on Fastify, hooks run before the receiver, and the response has the headers that they set", async () => {
  const adapter = new FastifyAdapter({ routerOptions: { ignoreTrailingSlash: true } });
  const app = await create(
    { imports: [WebhooksModule.forRoot(options)], providers: [Mail] },
    adapter,
  );
  adapter.getInstance().addHook("onRequest", (_request, reply, done) => {
    reply.header("x-frame-options", "DENY");
    done();
  });
  adapter.getInstance().addHook("preParsing", () => {
    throw new Error("deliveries are not parsed");
  });
  const origin = await listen(app);
  for (const path of ["/webhooks", "/webhooks/"]) {
    const response = await fetch(`${origin}${path}`, await signedDelivery({ type: "other" }));
    expect([response.status, response.headers.get("x-frame-options")]).toEqual([200, "DENY"]);
  }
});

test("on Fastify, a hook that a plugin adds to each route runs before the receiver", async () => {
  const imports = [WebhooksModule.forRoot(options)];
  const app = await create({ imports, providers: [Mail] }, new FastifyAdapter());
  const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
  fastify.addHook("onRoute", (route) => {
    const limit = async (_request: unknown, reply: FastifyReply) =>
      reply.code(429).send("slow down");
    route.onRequest = [route.onRequest ?? [], limit].flat();
  });
  expect(await send(`${await listen(app)}/webhooks`, "email.sent")).toBe(429);
});

test("without HTTP, the receiver can be injected and has no path", async () => {
  const seen: string[] = [];
  const Traced = (_target: object, _key: string, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as (...args: readonly unknown[]) => unknown;
    descriptor.value = function traced(this: unknown, ...args: readonly unknown[]) {
      seen.push("traced");
      return Reflect.apply(method, this, args);
    };
  };
  class Base {
    @Traced
    @OnWebhook("replaced")
    replaced() {
      seen.push("replaced");
    }
    @OnWebhook("overridden")
    overridden() {
      seen.push("base");
    }
  }
  @Injectable()
  class Derived extends Base {
    @OnWebhook("own")
    own() {
      seen.push("own");
    }
    @OnWebhook("overridden")
    override overridden() {
      seen.push("derived");
    }
  }
  @Module({ imports: [WebhooksModule.forRoot(options)], providers: [Derived] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, {
    logger: false,
    abortOnError: false,
  });
  onTestFinished(() => app.close());
  const receiver = app.get<Receiver>(receiverToken());
  for (const type of ["replaced", "overridden", "own"]) {
    expect(await receiver.receive(await signedDelivery({ type }))).toMatchObject({
      code: "processed",
    });
  }
  expect(seen).toEqual(["traced", "replaced", "derived", "own"]);
});
