import { ConfigError, createGuard, createIntake, createReceiver } from "@svc-webhooks/core";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { webhooks as fastifyWebhooks } from "@svc-webhooks/fastify";
import { webhooks as honoWebhooks } from "@svc-webhooks/hono";
import { webhooks as nextWebhooks } from "@svc-webhooks/next";
import { webhooks as pagesWebhooks } from "@svc-webhooks/next/pages";
import { webhooks as nodeWebhooks } from "@svc-webhooks/node";
import { createServer, type RequestListener } from "node:http";
import type { ErrorRequestHandler } from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { expresses, listen } from "@svc-webhooks/kit/servers";
import { packagesOfKind } from "@svc-webhooks/kit/workspace";

const options = { secret: "whsec_do_not_show", on: { "*": () => {} } };
const mount =
  "Pass the receiver that createReceiver() returns: webhooks(createReceiver({ secret, on })).";
const refused = (found: string) => expect.stringContaining(`\`receiver\` is ${found}. ${mount}`);
const itself = refused("a request: `webhooks` itself was mounted");

/** The adapters that frameworks call with options. Their own tests check these. */
const plugins = new Set(["@svc-webhooks/fastify", "@svc-webhooks/nest"]);

const entries = packagesOfKind("adapter")
  .filter(({ name }) => !plugins.has(name))
  .flatMap((one) => one.entries);

describe.each(entries)("webhooks() of %s", (entry) => {
  test.each([
    [undefined, "undefined"],
    [null, "null"],
    ["whsec_do_not_show", "a string"],
    [options, "an options object"],
    [{}, "an object without the required members"],
    [Promise.resolve(createReceiver(options)), "a promise, which must be awaited"],
    [
      Object.assign(new Request("http://localhost"), {}),
      "a request: `webhooks` itself was mounted",
    ],
  ])("refuses %j in place of a receiver", async (given, found) => {
    const { webhooks } = (await import(entry)) as { webhooks: (receiver: unknown) => unknown };
    const invalid = { code: "invalid_option", option: "receiver", message: refused(found) };
    expect(() => webhooks(given)).toThrow(ConfigError);
    expect(() => webhooks(given)).toThrow(expect.objectContaining(invalid) as Error);
    expect(webhooks(createReceiver(options))).toBeDefined();
  });
});

const accepting = { sources: ["stripe-sdk"], logger: { info() {}, warn() {}, error() {} } };
const intake = createIntake({ ...accepting, on: options.on });
const unverified = {
  code: "invalid_option",
  option: "receiver",
  message: expect.stringContaining(
    "An intake or a guard verifies nothing, so it cannot be mounted. Verify the request in your own route, and then call `accept` or `run`.",
  ) as unknown,
};

describe.each([
  ["an intake", intake],
  ["a guard", createGuard(accepting)],
])("%s", (_what, given) => {
  test.each(entries)("is refused by webhooks() of %s", async (entry) => {
    const { webhooks } = (await import(entry)) as { webhooks: (receiver: unknown) => unknown };
    expect(() => webhooks(given)).toThrow(expect.objectContaining(unverified) as Error);
  });

  test("is refused by the plugin of Fastify, also as the result of a function", async () => {
    for (const receiver of [given, () => given, async () => given]) {
      const app = Fastify().register(fastifyWebhooks, { receiver } as never);
      await expect(app.ready()).rejects.toMatchObject(unverified);
    }
  });
});

test("an intake in place of a receiver does not compile", () => {
  const { message } = unverified;
  const refusal = expect.objectContaining({ message }) as Error;
  // @ts-expect-error: an intake has no `receive`
  expect(() => nodeWebhooks(intake)).toThrow(refusal);
  // @ts-expect-error: an intake has no `receive`
  expect(() => expressWebhooks(intake)).toThrow(refusal);
  // @ts-expect-error: an intake has no `receive`
  expect(() => nextWebhooks(intake)).toThrow(refusal);
  // @ts-expect-error: an intake has no `receive`
  expect(() => pagesWebhooks(intake)).toThrow(refusal);
  // @ts-expect-error: an intake has no `receive`, and what this returns is not a handler
  expect(() => new Hono().post("/", honoWebhooks(intake))).toThrow(refusal);
  // @ts-expect-error: an intake has no `receive`
  expect(() => Fastify().register(fastifyWebhooks, { receiver: intake })).not.toThrow();
});

test("options in place of a receiver do not compile", () => {
  // @ts-expect-error: options are not a receiver
  expect(() => nodeWebhooks(options)).toThrow(mount);
  // @ts-expect-error: options are not a receiver
  expect(() => expressWebhooks(options)).toThrow(mount);
  // @ts-expect-error: options are not a receiver
  expect(() => nextWebhooks(options)).toThrow(mount);
  // @ts-expect-error: options are not a receiver
  expect(() => pagesWebhooks(options)).toThrow(mount);
  // @ts-expect-error: options are not a receiver, and what this returns is not a handler
  expect(() => new Hono().post("/", honoWebhooks(options))).toThrow(mount);
});

describe("webhooks mounted without a call does not compile, and refuses requests", () => {
  test.each(expresses)("in $name", async ({ express }) => {
    const errors: unknown[] = [];
    const app = express();
    // @ts-expect-error: it takes a receiver
    app.post("/webhooks", expressWebhooks);
    const onError: ErrorRequestHandler = (error: Error, _request, response, _next) => {
      errors.push(error.message);
      response.sendStatus(500);
    };
    app.use(onError);
    const port = await listen(app as RequestListener);
    const response = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: "POST" });
    expect(response.status).toBe(500);
    expect(errors).toEqual([itself]);
  });

  test("in Hono", async () => {
    const errors: unknown[] = [];
    const app = new Hono().onError((error, c) => {
      errors.push(error.message);
      return c.text("", 500);
    });
    // @ts-expect-error: what it returns is not a response
    app.post("/webhooks", honoWebhooks);
    expect((await app.request("/webhooks", { method: "POST" })).status).toBe(500);
    expect(errors).toEqual([itself]);
  });

  test("in node:http and in Next.js", () => {
    // @ts-expect-error: it takes a receiver
    expect(createServer(nodeWebhooks).listening).toBe(false);
    const handlers: Record<string, (request: Request) => unknown> = {};
    // @ts-expect-error: it takes a receiver
    handlers["POST"] = nextWebhooks;
    expect(() => handlers["POST"]?.(new Request("http://localhost"))).toThrow(
      expect.objectContaining({ message: itself }) as Error,
    );
  });
});

test("an adapter's own options are checked", () => {
  const receiver = createReceiver(options);
  for (const [given, code, option] of [
    [{ fixx: "" }, "unknown_option", "fixx"],
    [{ fix: 5 }, "invalid_option", "fix"],
    [null, "invalid_option", "options"],
  ] as const) {
    const invalid = expect.objectContaining({ code, option }) as Error;
    expect(() => nodeWebhooks(receiver, given as never)).toThrow(invalid);
  }
});
