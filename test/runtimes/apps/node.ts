import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { webhooks } from "@svc-webhooks/node";
import { contractReceiver, type Before } from "@svc-webhooks/testing";
import express5 from "express";
import { ways } from "./before.js";

type TouchedRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };
type Middleware = (
  request: TouchedRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown;

const pass: Middleware = (_request, _response, next) => next();

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** What is done to a request before an adapter gets it, where there is no framework to do it. */
const byHand: Readonly<Record<Before, Middleware>> = {
  nothing: pass,
  async parser(request, _response, next) {
    request.body = JSON.parse((await bytesOf(request)).toString()) as unknown;
    next();
  },
  async keeper(request, _response, next) {
    request.rawBody = await bytesOf(request);
    next();
  },
  async cutter(request, _response, next) {
    request.rawBody = (await bytesOf(request)).subarray(0, -1);
    next();
  },
};

function nodeListener(): RequestListener {
  const handlers = new Map(ways.map((before) => [before, webhooks(contractReceiver())]));
  return async (request, response) => {
    const before = request.url?.split("/").at(-1) as Before;
    await byHand[before](request, response, () => handlers.get(before)?.(request, response));
  };
}

function expressListener(express: typeof express5, prefix: string): RequestListener {
  const type = () => true;
  const touching = {
    ...byHand,
    parser: express.json({ type }),
    keeper: express.raw({ type, limit: "1mb" }),
  };
  const app = express();
  for (const before of ways) {
    app.all(`/${prefix}/${before}`, touching[before], expressWebhooks(contractReceiver()));
  }
  // Express types its apps for its own request class.
  return app as RequestListener;
}

// Under its alias there are no types; for what is used here those of Express 5 are true of both.
const express4 = createRequire(import.meta.url)("express4") as typeof express5;

/** By the first part of the path. */
export const nodeApps: Readonly<Record<string, RequestListener>> = {
  "node-http": nodeListener(),
  express4: expressListener(express4, "express4"),
  express5: expressListener(express5, "express5"),
};
