import {
  Controller,
  Injectable,
  Module,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type ModuleMetadata,
} from "@nestjs/common";
import { LazyModuleLoader } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { OnWebhook, WebhooksModule } from "@svc-webhooks/nest";
import { describe, expect, test } from "vitest";
import { create, listen, options, platforms, send } from "./nest-app.js";

class Enhancer {
  canActivate() {
    return true;
  }
  intercept() {}
  transform() {}
  catch() {}
}

@Injectable()
class Mail {
  @OnWebhook("email.*")
  mail() {}
}

@Injectable()
class Twice {
  @OnWebhook("email.*")
  again() {}
}

@Injectable()
class Unknown {
  @OnWebhook("invoice.paid", { receiver: "strpe" })
  paid() {}
}

@Controller()
class InController {
  @OnWebhook("a")
  a() {}
}

@Injectable()
@UseGuards(Enhancer)
class Guarded {
  @OnWebhook("a")
  a() {}
}

/** Returns a provider whose method has a decorator of Nest. */
function decorated(decorator: MethodDecorator): ModuleMetadata {
  @Injectable()
  class Decorated {
    @decorator
    @OnWebhook("a")
    a() {}
  }
  return { providers: [Decorated] };
}

const enhanced = /^Decorated\.a\(\) or its class has a guard, an interceptor, a pipe or a filter\./;
const again = WebhooksModule.forRoot({ ...options, path: "/again" });
const invalid = (settings: object): ModuleMetadata => ({
  imports: [WebhooksModule.forRoot({ name: "invalid", ...options, ...settings })],
  providers: [InvalidHandlers],
});

@Injectable()
class InvalidHandlers {
  @OnWebhook("a", { receiver: "invalid" })
  a() {}
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {}

@Module({ providers: [PerRequest], exports: [PerRequest] })
class RequestModule {}

const handlers = "invalid_handler";
const mistakes: readonly (readonly [
  title: string,
  code: string,
  option: string,
  text: RegExp,
  metadata: ModuleMetadata,
])[] = [
  [
    "two methods for one type",
    handlers,
    'on["email.*"]',
    /^Mail\.mail\(\) and Twice\.again\(\) both handle "email\.\*" of the receiver without a name\./,
    { providers: [Twice] },
  ],
  [
    "a handler of an unknown receiver",
    handlers,
    "receiver",
    /^Unknown\.paid\(\) handles events of the receiver "strpe", but no WebhooksModule has this name\./,
    { providers: [Unknown] },
  ],
  [
    "a handler class that a factory creates",
    handlers,
    "providers",
    /^Twice has methods with @OnWebhook\(\), but a factory or a value provides it/,
    { providers: [{ provide: "twice", useFactory: async () => new Twice() }] },
  ],
  [
    "an instance of a handler class",
    handlers,
    "providers",
    /^Twice has methods/,
    { providers: [{ provide: "twice", useValue: new Twice() }] },
  ],
  [
    "a handler in a controller",
    handlers,
    "controllers",
    /^InController is a controller and has methods with @OnWebhook\(\)\./,
    { controllers: [InController] },
  ],
  ["a guard on a handler method", handlers, "type", enhanced, decorated(UseGuards(Enhancer))],
  ["an interceptor on it", handlers, "type", enhanced, decorated(UseInterceptors(Enhancer))],
  ["a pipe on it", handlers, "type", enhanced, decorated(UsePipes(Enhancer))],
  ["a filter on it", handlers, "type", enhanced, decorated(UseFilters(Enhancer))],
  [
    "a guard on the class of handlers",
    handlers,
    "type",
    /^Guarded\.a\(\) or its class/,
    { providers: [Guarded] },
  ],
  [
    "a receiver without handlers",
    handlers,
    "on",
    /^No provider has a handler for the receiver "mail"\./,
    { imports: [WebhooksModule.forRoot({ ...options, name: "mail" })] },
  ],
  [
    "two receivers without a name",
    "invalid_option",
    "name",
    /^Two calls of WebhooksModule create the receiver without a name\./,
    { imports: [again] },
  ],
  [
    "two receivers at one path",
    "invalid_option",
    "path",
    /^Two receivers have the path "\/webhooks"\./,
    invalid({ path: "/webhooks/" }),
  ],
  ["a relative path", "invalid_option", "path", /^`path` must begin/, invalid({ path: "a" })],
  ["a pattern as path", "invalid_option", "path", /^`path` must/, invalid({ path: "/:a" })],
  ["no path", "invalid_option", "path", /^`path` must/, invalid({ path: undefined })],
  ["a drainMs in text", "invalid_option", "drainMs", /^`drainMs`/, invalid({ drainMs: "1" })],
  ["an empty secret", "invalid_secret", "secret", /^`secret` is empty/, invalid({ secret: "" })],
  [
    "the sources of an intake",
    "unknown_option",
    "sources",
    /option of createIntake\(\)/,
    invalid({ sources: ["stripe-sdk"] }),
  ],
  ["a misspelled option", "unknown_option", "maxrun", /maxRuns/, invalid({ maxrun: 1 })],
  [
    "a factory without a result",
    "invalid_option",
    "useFactory",
    /^`useFactory` must return/,
    {
      imports: [
        WebhooksModule.forRootAsync({ name: "invalid", useFactory: () => undefined as never }),
      ],
      providers: [InvalidHandlers],
    },
  ],
  ["handlers as options", "invalid_option", "on", /^WebhooksModule has no/, invalid({ on: {} })],
  [
    "a name from the factory",
    "invalid_option",
    "name",
    /^`useFactory` cannot return `name`/,
    {
      imports: [
        WebhooksModule.forRootAsync({
          name: "invalid",
          useFactory: () => ({ ...options, name: "other" }),
        }),
      ],
      providers: [InvalidHandlers],
    },
  ],
  [
    "a factory that needs a provider of each request",
    "invalid_option",
    "inject",
    /^`inject` of WebhooksModule\.forRootAsync lists a provider that Nest creates for each request/,
    {
      imports: [
        WebhooksModule.forRootAsync({
          name: "invalid",
          imports: [RequestModule],
          inject: [PerRequest],
          useFactory: () => options,
        }),
      ],
      providers: [InvalidHandlers],
    },
  ],
  [
    "the module without options",
    "invalid_option",
    "imports",
    /^Import `WebhooksModule\.forRoot\(options\)`/,
    { imports: [WebhooksModule] },
  ],
];

describe.each(platforms)("on $platform", ({ adapter }) => {
  test.each(mistakes)("refuses %s at startup", async (_title, code, option, text, metadata) => {
    const all = {
      ...metadata,
      imports: [WebhooksModule.forRoot(options), ...(metadata.imports ?? [])],
      providers: [Mail, ...(metadata.providers ?? [])],
    };
    const starting = create(all, adapter()).then((app) => app.init());
    await expect(starting).rejects.toMatchObject({
      code,
      option,
      message: expect.stringMatching(text) as string,
    });
  });

  test("rejects with the error of a factory", async () => {
    const error = new Error("vault unreachable");
    const webhooks = WebhooksModule.forRootAsync({ useFactory: () => Promise.reject(error) });
    const starting = create({ imports: [webhooks], providers: [Mail] }, adapter());
    await expect(starting).rejects.toBe(error);
  });

  test("refuses a module that is loaded lazily after the start", async () => {
    @Module({})
    class Root {}
    const app = await create({ imports: [Root], providers: [Mail] }, adapter());
    await listen(app);
    const loading = app.get(LazyModuleLoader).load(() => WebhooksModule.forRoot(options));
    await expect(loading).rejects.toMatchObject({ code: "invalid_option", option: "imports" });
  });

  test("a handler class and its base class may be aliases of one provider", async () => {
    const handled: string[] = [];
    class Port {
      @OnWebhook("a")
      a() {}
    }
    @Injectable()
    class Implementation extends Port {
      override a() {
        handled.push("implementation");
      }
    }
    const metadata = {
      imports: [WebhooksModule.forRoot(options)],
      providers: [Implementation, { provide: Port, useExisting: Implementation }],
    };
    const origin = await listen(await create(metadata, adapter()));
    expect(await send(`${origin}/webhooks`, "a")).toBe("processed");
    expect(handled).toEqual(["implementation"]);
  });

  test("a handler class may be replaced under its own token", async () => {
    const handled: string[] = [];
    const value = { mail: () => handled.push("replaced") };
    const metadata = {
      imports: [WebhooksModule.forRoot(options)],
      providers: [{ provide: Mail, useValue: value }],
    };
    const origin = await listen(await create(metadata, adapter()));
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(handled).toEqual(["replaced"]);
  });
});

test.each([
  ["an unknown option", { useClass: Mail }, "unknown_option", "useClass"],
  ["no factory", { name: "a" }, "invalid_option", "useFactory"],
])("forRootAsync refuses %s", (_title, settings, code, option) => {
  expect(() => WebhooksModule.forRootAsync(settings as never)).toThrow(
    expect.objectContaining({ code, option }) as Error,
  );
});

const decorators: readonly (readonly [string, () => unknown])[] = [
  [
    "a static method",
    () => {
      class Static {
        @OnWebhook("a")
        static a() {}
        b() {}
      }
      return Static;
    },
  ],
  ["a standard decorator", () => OnWebhook("a")(() => {}, {} as never, {})],
];

test.each(decorators)("refuses %s when it is decorated", (_title, decorate) => {
  expect(decorate).toThrow(
    expect.objectContaining({
      code: "invalid_handler",
      message: expect.stringContaining("experimentalDecorators") as string,
    }) as Error,
  );
});

test.each<[string, string, unknown, object?]>([
  ["no type", "type", undefined],
  ["an empty type", "type", ""],
  ["a list of types", "type", ["a", "b"]],
  ["a type with a space", "type", " a"],
  ["a symbol", "type", Symbol("a")],
  ["a receiver that is not a name", "receiver", "a", { receiver: 5 }],
])("a decorator refuses %s when the class is defined", (_title, option, type, more = {}) => {
  const decorate = () => OnWebhook(type as string, more)(Mail.prototype, "mail", {});
  expect(decorate).toThrow(expect.objectContaining({ code: "invalid_handler", option }));
});

test("a decorator refuses a misspelled option", () => {
  expect(() => OnWebhook("a", { reciever: "x" } as object)).toThrow(
    expect.objectContaining({ code: "unknown_option", option: "reciever" }),
  );
});

test("forRoot() without options misses the secret", () => {
  const module = WebhooksModule.forRoot(undefined as never);
  const starting = create({ imports: [module], providers: [Mail] }, new FastifyAdapter());
  return expect(starting).rejects.toMatchObject({ code: "invalid_secret", option: "secret" });
});
