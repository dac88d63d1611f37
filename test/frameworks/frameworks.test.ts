import { createServer } from "node:http";
import { createRequire } from "node:module";
import { getTestServer } from "@google-cloud/functions-framework/testing";
import { getRequestListener } from "@hono/node-server";
import { Logger, type INestApplication } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { webhooks } from "@svc-webhooks/node";
import {
  responsesOf,
  exampleEvent,
  exampleSecret,
  expectedResponses,
} from "@svc-webhooks/kit/examples";
import { outcomeIn } from "@svc-webhooks/kit/clients";
import { spawned } from "@svc-webhooks/kit/launch";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { signedDelivery } from "@svc-webhooks/testing";
import Fastify from "fastify";
import type { Hono } from "hono";
import Koa from "koa";
import { minVersion } from "semver";
import { testPosix } from "@svc-webhooks/kit/systems";
import { tableOf } from "@svc-webhooks/kit/tables";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { frameworks } from "../../site/fragments/frameworks.js";
import { codeOf, moduleOf, originOf, originWhile, preload } from "./page.js";
import { projects } from "./projects.js";

const require = createRequire(import.meta.url);

Logger.overrideLogger(false);

/** The lines that receivers of the page's code log. */
let lines: string[] = [];

beforeEach(() => {
  lines = [];
  vi.stubEnv("SVC_WEBHOOK_SECRET", exampleSecret);
  vi.stubGlobal("log", (line: string) => lines.push(line));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });
});

const importModule = (file: string) => import(/* @vite-ignore */ file) as Promise<unknown>;

/** Runs code that listens, on a free port instead of its own. Resolves to its origin. */
const serve = async (name: string, code: string): Promise<string> =>
  originWhile(async () => importModule(await moduleOf(name, code)));

const onFastify = (code: string) =>
  'import { FastifyAdapter } from "@nestjs/platform-fastify";\n' +
  code.replace("create(AppModule)", "create(AppModule, new FastifyAdapter())");

test.each([
  ["Express 5", "express", (code: string) => code],
  ["Express 4", "express", (code: string) => code.replace('"express"', '"express4"')],
  ["NestJS", "nest", (code: string) => code],
  ["NestJS on Fastify", "nest", onFastify],
  ["Fastify", "fastify", (code: string) => code],
  ["node:http", "node", (code: string) => code],
  ["Koa", "koa", (code: string) => code],
  ["h3", "h3", (code: string) => code],
])("%s: a delivery is processed once, and a forged one is not", async (name, page, changed) => {
  const origin = await serve(name.replaceAll(/\W/g, "-"), changed(codeOf(page)));
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
});

test.each([
  ["Hono", 1],
  ["Hono with bindings", 2],
])("%s: a delivery is processed once, and a forged one is not", async (name, position) => {
  const file = await moduleOf(name.replaceAll(/\W/g, "-"), codeOf("hono", position));
  const { default: app } = (await importModule(file)) as { readonly default: Hono };
  const bindings = { SVC_WEBHOOK_SECRET: exampleSecret };
  const server = createServer(getRequestListener((request) => app.fetch(request, bindings)));
  const origin = await originOf(server.listen(0, "127.0.0.1"));
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
});

test("Express: a parser that runs first keeps the bytes with the hook of the page", async () => {
  const parsed = codeOf("express").replace(
    /^const app = [^]*$/m,
    `${codeOf("express", 2).replace(/^import .*$/m, "")}
app.post("/webhooks", webhooks(receiver));
app.listen(3000);`,
  );
  const origin = await serve("express-verify", parsed);
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
});

const nestFix =
  "in NestJS, use WebhooksModule from svc-webhooks/nest, " +
  "or pass { rawBody: true } to NestFactory.create()";

/** A controller that calls the adapter of `node:http` after Nest's parsers. `log` is an option of its receiver. */
const controller = `
import { Controller, Module, Post, Req, Res } from "@nestjs/common";
import { createReceiver } from "svc-webhooks";
import { webhooks } from "svc-webhooks/node";

@Controller("webhooks")
class WebhooksController {
  handle = webhooks(
    createReceiver({ secret: process.env.SVC_WEBHOOK_SECRET, log, on: { "*": () => {} } }),
  );

  @Post()
  receive(@Req() request, @Res() response) {
    return this.handle(request, response);
  }
}

@Module({ controllers: [WebhooksController] })
export class AppModule {}
`;

/** Serves the controller. Resolves to its URL. */
async function nestController(
  name: string,
  create: (module: new () => object) => Promise<INestApplication>,
  changed = (code: string) => code,
): Promise<string> {
  const { AppModule } = (await importModule(await moduleOf(name, changed(controller)))) as {
    AppModule: new () => object;
  };
  const app = await create(AppModule);
  await app.listen(0, "127.0.0.1");
  onTestFinished(() => app.close());
  return `${await app.getUrl()}/webhooks`;
}

describe("a NestJS controller", () => {
  test("processes a delivery once if Nest keeps the bytes, and refuses a forged one", async () => {
    const url = await nestController("nest-controller", (module) =>
      NestFactory.create(module, { rawBody: true }),
    );
    expect(await responsesOf(url)).toEqual(expectedResponses);
    const large = { ...exampleEvent, html: "x".repeat(110_000) };
    // Nest's own limit is 100 kB.
    expect((await fetch(url, await signedDelivery(large))).status).toBe(413);
  });

  test("logs Nest's own fix if Nest keeps no bytes", async () => {
    const url = await nestController("nest-parsed", (module) => NestFactory.create(module));
    expect(await refusedLine(url, lines)).toContain(
      `a body parser has left a parsed value in req.body and discarded the bytes; ${nestFix}`,
    );
  });

  test("logs Nest's own fix on Fastify too", async () => {
    const url = await nestController(
      "nest-fastify-parsed",
      (module) => NestFactory.create(module, new FastifyAdapter()),
      (code) => code.replace("(request, response);", "(request.raw, response.hijack().raw);"),
    );
    expect(await refusedLine(url, lines)).toContain(
      `the request stream has been read before; ${nestFix}`,
    );
  });
});

/** Sends a delivery that must be `body_unavailable`. Resolves to the line that the receiver logs. */
async function refusedLine(url: string, observed: readonly string[]): Promise<string> {
  const delivery = await signedDelivery(exampleEvent);
  const response = await fetch(url, delivery);
  expect(await response.json()).toMatchObject({ error: { code: "body_unavailable" } });
  expect(observed).toHaveLength(1);
  return String(observed[0]);
}

test("in a Fastify route with the default parser, the logged line names Fastify's fix", async () => {
  const { receiver, lines: observed } = observedReceiver();
  const handle = webhooks(receiver);
  const app = Fastify();
  app.post("/webhooks", (request, reply) => handle(request.raw, reply.hijack().raw));
  onTestFinished(() => app.close());
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  expect(await refusedLine(`${origin}/webhooks`, observed)).toContain(
    "the request stream has been read before; in Fastify, use webhooks from svc-webhooks/fastify",
  );
});

test("in Koa after a body parser, the logged line names the general fix", async () => {
  const { receiver, lines: observed } = observedReceiver();
  const handle = webhooks(receiver);
  const app = new Koa();
  app.use(async (ctx, next) => {
    for await (const chunk of ctx.req) void chunk;
    await next();
  });
  app.use((ctx) => handle(ctx.req, ctx.res));
  const origin = await originOf(app.listen(0, "127.0.0.1"));
  expect(await refusedLine(origin, observed)).toContain(
    "the request stream has been read before; let the receiver read the request first",
  );
});

test.each([
  [
    "a global prefix of NestJS",
    "nest",
    "await app.listen",
    'app.setGlobalPrefix("api");\nawait app.listen',
  ],
  ["Fastify's bodyLimit", "fastify", "logger: true", "bodyLimit: 1"],
])("%s does not apply to the receiver", async (title, page, text, changed) => {
  const code = codeOf(page).replace(text, changed);
  const origin = await serve(title.replaceAll(/\W/g, "-"), code);
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
});

test("the rest of a Fastify app keeps its parsers", async () => {
  const code = codeOf("fastify").replace(
    "await app.listen",
    'app.post("/other", async (request) => request.body);\nawait app.listen',
  );
  const origin = await serve("fastify-other", code);
  const response = await fetch(`${origin}/other`, await signedDelivery(exampleEvent));
  expect(await response.json()).toEqual(exampleEvent);
});

test("Google Cloud Functions: a delivery is processed once, and a forged one is not", async () => {
  await importModule(await moduleOf("functions", codeOf("google-cloud-functions")));
  const server = getTestServer("webhooks").listen(0, "127.0.0.1");
  expect(await responsesOf(await originOf(server))).toEqual(expectedResponses);
});

describe("AWS Lambda", () => {
  type Headers = Readonly<Record<string, string>>;
  type Event = (headers: Headers, body: string, isBase64Encoded: boolean) => object;

  /** The parts of the documented events that a proxy integration fills for a POST. */
  const events: Readonly<Record<string, Event>> = {
    "payload version 1.0": (headers, body, isBase64Encoded) => ({
      version: "1.0",
      resource: "/webhooks",
      path: "/webhooks",
      httpMethod: "POST",
      headers,
      multiValueHeaders: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, [value]]),
      ),
      queryStringParameters: null,
      requestContext: { httpMethod: "POST", path: "/webhooks", protocol: "HTTP/1.1" },
      body,
      isBase64Encoded,
    }),
    "payload version 1.0 without lists": (headers, body, isBase64Encoded) => ({
      httpMethod: "POST",
      headers,
      multiValueHeaders: null,
      body,
      isBase64Encoded,
    }),
    "payload version 2.0": (headers, body, isBase64Encoded) => ({
      version: "2.0",
      routeKey: "POST /webhooks",
      rawPath: "/webhooks",
      rawQueryString: "",
      headers,
      requestContext: { http: { method: "POST", path: "/webhooks", protocol: "HTTP/1.1" } },
      body,
      isBase64Encoded,
    }),
    "a function URL": (headers, body, isBase64Encoded) => ({
      version: "2.0",
      routeKey: "$default",
      rawPath: "/",
      rawQueryString: "",
      headers,
      requestContext: {
        authentication: null,
        domainName: "url-id.lambda-url.us-west-2.on.aws",
        http: { method: "POST", path: "/", protocol: "HTTP/1.1" },
      },
      body,
      isBase64Encoded,
    }),
  };
  interface LambdaResponse {
    readonly statusCode: number;
    readonly headers: Headers;
    readonly body: string;
  }
  type Handler = (event: object) => Promise<LambdaResponse>;

  async function handlerOf(name: string): Promise<Handler> {
    const file = await moduleOf(`lambda-${name.replaceAll(/\W/g, "-")}`, codeOf("lambda"));
    return ((await importModule(file)) as { handler: Handler }).handler;
  }

  const named = { ...exampleEvent, name: "Zoë" };
  const encodings = ["utf8", "base64"] as const;
  const cases = Object.keys(events).flatMap((name) =>
    encodings.map((encoding) => [name, encoding] as const),
  );

  test.each(cases)(
    "%s, body in %s: a delivery is processed once, and a forged one is not",
    async (name, encoding) => {
      const handler = await handlerOf(`${name} ${encoding}`);
      const genuine = await signedDelivery(named, { secret: exampleSecret });
      const forged = await signedDelivery(named, { secret: "whsec_wrong" });
      const responses: unknown[] = [];
      for (const { headers, body } of [genuine, genuine, forged]) {
        const sent = { ...headers, "content-length": String(body.length) };
        const text = Buffer.from(body).toString(encoding);
        const response = await handler(events[name]?.(sent, text, encoding === "base64") ?? {});
        expect(response.headers["Content-Type"]).toBe("application/json");
        responses.push([response.statusCode, outcomeIn(response.body)]);
      }
      expect(responses).toEqual(expectedResponses);
    },
  );

  test("the console's test event, which has no headers, gets 401", async () => {
    const handler = await handlerOf("no headers");
    const event = { httpMethod: "POST", headers: null, multiValueHeaders: null, body: "{}" };
    expect(await handler(event)).toMatchObject({ statusCode: 401 });
  });

  test("a repeated signature header of payload version 1.0 is refused", async () => {
    const handler = await handlerOf("repeated");
    const { headers, body } = await signedDelivery(named, { secret: exampleSecret });
    const signature = String(headers["x-svc-signature"]);
    const repeated = {
      ...events["payload version 1.0"]?.(headers, Buffer.from(body).toString(), false),
      multiValueHeaders: { "X-SVC-Signature": [signature, signature] },
    };
    expect((await handler(repeated)).body).toContain('"signature_malformed"');
  });
});

describe("without a framework", () => {
  /** Returns the code of a runtime's page, after a module that defines the reader's own values. */
  async function served(runtime: string): Promise<string> {
    await moduleOf(`${runtime}-globals`, preload.split("const { listen }")[0] ?? "");
    await moduleOf(`${runtime}-server`, codeOf(runtime));
    return moduleOf(
      runtime,
      `import "./${runtime}-globals.mjs";\nexport { default } from "./${runtime}-server.mjs";`,
    );
  }

  testPosix.each([
    [
      "Bun",
      async () => {
        vi.stubEnv("BUN_PORT", "0");
        return spawned(require.resolve("bun/bin/bun.exe"), await served("bun"));
      },
    ],
    [
      "Deno",
      async () => {
        const deno = `"${process.execPath}" "${require.resolve("deno/bin.cjs")}" serve --no-remote`;
        const options = "--node-modules-dir=manual --allow-env --port 0 --host 127.0.0.1";
        // Deno prints its address to stderr, with a slash after the port.
        const command = `${deno} ${options} "${await served("deno")}" 2>&1 | sed -u 's:/$::'`;
        return spawned("sh", "-c", command);
      },
    ],
  ])("%s: a delivery is processed once, and a forged one is not", async (_name, start) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const { origin, close } = await start();
    onTestFinished(async () => void (await close()));
    expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
    expect((await fetch(origin)).status).toBe(404);
  });
});

/** Returns a major version: `3` for `3.2.0`. */
const major = (version: string) => version.split(".")[0] ?? "";

test("the pages have the versions that the tests use", () => {
  const { devDependencies } = require("../../package.json") as {
    devDependencies: Readonly<Record<string, string>>;
  };
  const installed = (name: string) => devDependencies[name]?.replace(/^npm:.*@/, "") ?? "";
  const runtimes = Object.keys(tableOf("docs/runtimes.md", "adapter")[0] ?? {});
  const numbered = (start: string, end: string) =>
    runtimes.flatMap((one) =>
      one.startsWith(start) ? one.slice(start.length).replace(end, "") : [],
    );
  const lowest = (range = "") => minVersion(range)?.version ?? "";
  const peersOf = (name: string) =>
    publicPackages.find(({ folder }) => folder === `packages/${name}`)?.manifest.peerDependencies ??
    {};
  const tested: Readonly<Record<string, readonly string[]>> = {
    express: [installed("express4"), installed("express")],
    fastify: [installed("fastify")],
    hono: [installed("hono")],
    nest: [lowest(peersOf("nest")["@nestjs/core"]), installed("@nestjs/core")],
    node: [lowest(publicPackages[0]?.manifest.engines?.["node"]), ...numbered("Node ", "")],
    koa: [installed("koa")],
    "google-cloud-functions": [installed("@google-cloud/functions-framework")],
    h3: [installed("h3")],
    bun: [installed("bun")],
    deno: [installed("deno")],
    ...Object.fromEntries(projects.map(({ name, version }) => [name, [version]])),
    next: [...numbered("next start (", ")"), installed("next")],
  };
  const stated = frameworks.filter(({ name }) => name !== "lambda");
  expect(stated.map(({ name, tested: [, ...versions] }) => [name, versions])).toEqual(
    stated.map(({ name }) => [name, tested[name]?.map(major)]),
  );
});

test.each(frameworks)("the page of $title reads the secret itself", ({ name }) => {
  expect(codeOf(name)).toMatch(/secret: .*(?:SVC_WEBHOOK_SECRET|signingSecret)/);
  expect(codeOf(name)).toMatch(/on: {|@OnWebhook\(/);
});
