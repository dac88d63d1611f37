import { getRequestListener } from "@hono/node-server";
import type { OutcomeCode } from "@svc-webhooks/core";
import type { Hono } from "hono";
import type { TestDelivery } from "./deliveries.js";
import { listen } from "./servers.js";

/** The outcome code in a response, or undefined if the receiver did not respond. */
export async function codeOf(response: Response): Promise<OutcomeCode | undefined> {
  const text = await response.text();
  if (!text.startsWith("{")) return undefined;
  const { status, error } = JSON.parse(text) as {
    readonly status?: OutcomeCode;
    readonly error?: { readonly code: OutcomeCode };
  };
  return status ?? error?.code;
}

/** The `RequestInit` of a delivery, whose headers must be single values. */
export const initOf = ({ headers, body }: TestDelivery): RequestInit => ({
  method: "POST",
  headers: headers as Record<string, string>,
  body: new Uint8Array(body),
});

/** Sends a request to an app. */
export type Ask = (path: string, init: RequestInit) => Promise<Response>;

/** A Hono app with any environment. */
export type AnyApp = Pick<Hono, "fetch" | "request">;

/** The ways to call a Hono app: in process, or over HTTP on Node. */
export const hosts: readonly {
  readonly host: string;
  readonly serve: (app: AnyApp) => Promise<Ask>;
}[] = [
  {
    host: "in process",
    // Each request has its own environment, as over HTTP.
    serve: async (app) => async (path, init) => app.request(path, init, {}),
  },
  {
    host: "over HTTP",
    async serve(app) {
      const port = await listen(getRequestListener(app.fetch));
      return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
    },
  },
];
