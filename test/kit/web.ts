import { getRequestListener } from "@hono/node-server";
import type { DeliveryContext, OutcomeCode } from "@svc-webhooks/core";
import type { Hono } from "hono";
import { outcomeIn } from "./clients.js";
import { signed, type TestDelivery } from "./deliveries.js";
import { observedReceiver, type ObservedReceiver } from "./receivers.js";
import { listen } from "./servers.js";

/** Returns the outcome code in a response, or undefined if the receiver did not respond. */
export const codeOf = async (
  response: Pick<Response, "text"> | undefined,
): Promise<OutcomeCode | undefined> => outcomeIn((await response?.text()) ?? "");

/** Returns the `RequestInit` of a delivery, whose headers must be single values. */
export const initOf = ({ headers, body }: TestDelivery): RequestInit => ({
  method: "POST",
  headers: headers as Record<string, string>,
  body: new Uint8Array(body),
});

/** Returns the `RequestInit` of a signed delivery. */
export const signedInit = async (...delivery: Parameters<typeof signed>): Promise<RequestInit> =>
  initOf(await signed(...delivery));

/** Returns an observed receiver that processes every event, and the bodies that its handler received. */
export function recordingReceiver(
  options: Parameters<typeof observedReceiver>[0] = {},
): ObservedReceiver & { readonly bodies: readonly Buffer[] } {
  const bodies: Buffer[] = [];
  const record = (body: Uint8Array) => void bodies.push(Buffer.from(body));
  const on = { "*": (_event: unknown, { delivery }: DeliveryContext) => record(delivery.body) };
  return { ...observedReceiver({ on, ...options }), bodies };
}

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
