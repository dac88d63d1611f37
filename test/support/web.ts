import { getRequestListener } from "@hono/node-server";
import type { OutcomeCode } from "@svc-webhooks/core";
import type { Hono } from "hono";
import type { TestDelivery } from "./deliveries.js";
import { listen } from "./servers.js";

/** Which outcome a web-standard answer tells of, if it is one of ours. */
export async function codeOf(response: Response): Promise<OutcomeCode | undefined> {
  const text = await response.text();
  if (!text.startsWith("{")) return undefined;
  const { status, error } = JSON.parse(text) as {
    readonly status?: OutcomeCode;
    readonly error?: { readonly code: OutcomeCode };
  };
  return status ?? error?.code;
}

/** A delivery as web-standard requests are made of it; its headers are single lines. */
export const initOf = ({ headers, body }: TestDelivery): RequestInit => ({
  method: "POST",
  headers: headers as Record<string, string>,
  body: new Uint8Array(body),
});

/** Asks an app. */
export type Ask = (path: string, init: RequestInit) => Promise<Response>;

/** An app of whatever environment; only its doors are used. */
export type AnyApp = Pick<Hono, "fetch" | "request">;

/** Where a Hono app can be asked: by a call, or over HTTP on Node. */
export const hosts: readonly {
  readonly host: string;
  readonly serve: (app: AnyApp) => Promise<Ask>;
}[] = [
  {
    host: "in process",
    // An environment for each request, as over HTTP.
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
