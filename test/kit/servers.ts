import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Receiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/express";
import { webhooks as nodeWebhooks } from "@svc-webhooks/node";
import express5 from "express";
import { onTestFinished } from "vitest";

export type Express = typeof express5;
type Receives = Pick<Receiver, "receive">;

/** A request with the properties that middleware sets. */
export interface TouchedRequest extends IncomingMessage {
  body?: unknown;
  rawBody?: unknown;
}

export type Middleware = (
  request: TouchedRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown;

// The alias has no types. For the functions used here, those of Express 5 fit both versions.
const express4 = createRequire(import.meta.url)("express4") as Express;

export const expresses = [
  { name: "Express 4", express: express4 },
  { name: "Express 5", express: express5 },
] as const;

/** A server on which a receiver is mounted, after any middleware. */
export interface Platform {
  readonly name: string;
  /**
   * The body parsers that the platform's users have: its own version's, or those of Express 5 for `node:http`.
   */
  readonly parsers: Pick<Express, "json" | "raw" | "text" | "urlencoded">;
  readonly mount: (receiver: Receives, ...before: readonly Middleware[]) => RequestListener;
}

/** Returns Express with the receiver mounted by `app.use`, for every path and method. */
export function expressApp(
  express: Express,
  receiver: Receives,
  ...before: readonly Middleware[]
): ReturnType<Express> {
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.use(webhooks(receiver));
  return app;
}

function nodeListener(receiver: Receives, ...before: readonly Middleware[]): RequestListener {
  const handler = nodeWebhooks(receiver);
  const run =
    (index: number): RequestListener =>
    (request, response) =>
      void (before[index]
        ? before[index](request, response, () => run(index + 1)(request, response))
        : handler(request, response));
  return run(0);
}

export const platforms: readonly Platform[] = [
  ...expresses.map(({ name, express }) => ({
    name,
    parsers: express,
    mount: (receiver: Receives, ...before: readonly Middleware[]): RequestListener =>
      // Express types its apps with its own request class.
      expressApp(express, receiver, ...before) as RequestListener,
  })),
  { name: "node:http", parsers: express5, mount: nodeListener },
];

/** Serves on a free local port until the test ends. */
export async function listen(
  listener: RequestListener,
  options: ServerOptions = {},
): Promise<number> {
  const server = createServer(options, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return (server.address() as AddressInfo).port;
}
