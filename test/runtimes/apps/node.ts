import type { RequestListener } from "node:http";
import { createRequire } from "node:module";
import { buffer } from "node:stream/consumers";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { webhooks as fastifyWebhooks } from "@svc-webhooks/fastify";
import { webhooks } from "@svc-webhooks/node";
import type { Middleware } from "@svc-webhooks/kit/servers";
import type { BodyMiddleware } from "@svc-webhooks/testing/adapter";
import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
import express5 from "express";
import Fastify from "fastify";
import { bodyMiddlewares } from "./body-middlewares.js";
import { nestListener } from "./nest.js";

const pass: Middleware = (_request, _response, next) => next();

/** Each middleware without a framework. */
const plain: Readonly<Record<BodyMiddleware, Middleware>> = {
  none: pass,
  async parses(request, _response, next) {
    request.body = JSON.parse(String(await buffer(request))) as unknown;
    next();
  },
  async buffers(request, _response, next) {
    request.rawBody = await buffer(request);
    next();
  },
  async truncates(request, _response, next) {
    request.rawBody = (await buffer(request)).subarray(0, -1);
    next();
  },
};

function nodeListener(): RequestListener {
  const handlers = new Map(
    bodyMiddlewares.map((middleware) => [middleware, webhooks(contractReceiver())]),
  );
  return async (request, response) => {
    const middleware = request.url?.split("?")[0]?.split("/").at(-1) as BodyMiddleware;
    await plain[middleware](request, response, () => handlers.get(middleware)?.(request, response));
  };
}

function expressListener(express: typeof express5, prefix: string): RequestListener {
  const type = () => true;
  const middlewares = {
    ...plain,
    parses: express.json({ type }),
    buffers: express.raw({ type, limit: "1mb" }),
  };
  const app = express();
  for (const middleware of bodyMiddlewares) {
    app.all(
      `/${prefix}/${middleware}`,
      middlewares[middleware],
      expressWebhooks(contractReceiver()),
    );
  }
  // Express types its apps for its own request class.
  return app as RequestListener;
}

async function fastifyListener(): Promise<RequestListener> {
  const app = Fastify();
  for (const middleware of bodyMiddlewares) {
    app.register(async (scope) => {
      scope.addHook("onRequest", (request, reply, done) => {
        void plain[middleware](request.raw, reply.raw, () => done());
      });
      scope.register(fastifyWebhooks, {
        path: `/fastify/${middleware}`,
        receiver: contractReceiver(),
      });
    });
  }
  await app.ready();
  return (request, response) => app.routing(request, response);
}

// The alias has no types; those of Express 5 are correct for all members that are used here.
const express4 = createRequire(import.meta.url)("express4") as typeof express5;

/** The listener for each first segment of the path. */
export const nodeApps: Readonly<Record<string, RequestListener>> = {
  "node-http": nodeListener(),
  express4: expressListener(express4, "express4"),
  express5: expressListener(express5, "express5"),
  fastify: await fastifyListener(),
  "nest-express": await nestListener("express", plain),
  "nest-fastify": await nestListener("fastify", plain),
};
