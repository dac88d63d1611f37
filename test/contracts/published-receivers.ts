import { createHmac } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { createWebhookMiddleware, type ExpressLikeRequest } from "@hookflo/tern/express";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import type { MountReceiver } from "@svc-webhooks/testing/receiver";
import express, { type RequestHandler } from "express";
import { secret, served } from "./mounted-receivers.js";

/**
 * Copies the headers to GitHub's names. Both libraries verify GitHub's deliveries, which differ from the service's only
 * in these names.
 */
function nameHeadersAsGitHub({ headers }: IncomingMessage): void {
  const { "x-svc-signature": signature, "x-svc-delivery-id": id } = headers;
  if (signature !== undefined) headers["x-hub-signature-256"] = signature;
  if (id !== undefined) headers["x-github-delivery"] = id;
  headers["x-github-event"] = "push";
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Receivers that do not use this library, each written as its documentation recommends. */
export const others: Readonly<Record<string, MountReceiver>> = {
  "@octokit/webhooks": served((handler) => {
    const webhooks = new Webhooks({ secret, log: silent });
    webhooks.on("push", ({ payload }) => handler(payload));
    const middleware = createNodeMiddleware(webhooks, { path: "/webhooks", log: silent });
    return (request, response) => {
      nameHeadersAsGitHub(request);
      void middleware(request, response);
    };
  }),

  "@hookflo/tern": served((handler) => {
    const app = express();
    app.post(
      "/webhooks",
      express.raw({ type: "*/*" }),
      (request, _response, next) => {
        nameHeadersAsGitHub(request);
        next();
      },
      createWebhookMiddleware({ platform: "github", secret }) as RequestHandler,
      async (request, response) => {
        await handler((request as ExpressLikeRequest).webhook?.payload);
        response.json({ received: true });
      },
    );
    // The cast is needed because Express types its apps with its own request class.
    return app as RequestListener;
  }),

  "Express tutorial": served((handler) => {
    const app = express();
    app.use(express.json());
    app.post("/webhooks", async (request, response) => {
      const body = JSON.stringify(request.body);
      const digest = createHmac("sha256", secret).update(body).digest("hex");
      if (request.get("X-SVC-Signature") !== `sha256=${digest}`) {
        return void response.status(401).send("Invalid signature");
      }
      try {
        await handler(request.body);
        response.status(200).send("OK");
      } catch (error) {
        response.status(500).send((error as Error).message);
      }
    });
    return app as RequestListener;
  }),
};
