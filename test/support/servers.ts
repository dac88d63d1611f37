import {
  createServer,
  type IncomingMessage,
  type RequestListener,
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

/** A request with what middleware leaves on it. */
export interface TouchedRequest extends IncomingMessage {
  body?: unknown;
  rawBody?: unknown;
}

export type Middleware = (
  request: TouchedRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown;

// Under its alias there are no types; for what is used here those of Express 5 are true of both.
const express4 = createRequire(import.meta.url)("express4") as Express;

export const expresses = [
  { name: "Express 4", express: express4 },
  { name: "Express 5", express: express5 },
] as const;

/** Where a receiver can be mounted, behind whatever was mounted before it. */
export interface Platform {
  readonly name: string;
  /** The body parsers its users have: of its own version, or for `node:http` those they borrow. */
  readonly parsers: Pick<Express, "json" | "raw" | "text" | "urlencoded">;
  readonly mount: (receiver: Receives, ...before: readonly Middleware[]) => RequestListener;
}

/** Express with the receiver under every path and method, as `app.use` mounts it. */
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
      // Express types its apps for its own request class.
      expressApp(express, receiver, ...before) as RequestListener,
  })),
  { name: "node:http", parsers: express5, mount: nodeListener },
];

/** Serves on a free port of this machine until the test ends. */
export async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
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
