import { webhooks } from "@svc-webhooks/hono";
import { Hono } from "hono";
import { createInboxes } from "./inboxes.js";

/** Creates an app with all inboxes in Hono, for Node and workerd. */
export function createHonoApp(): Hono {
  const app = new Hono();
  for (const { path, receiver, control } of createInboxes()) {
    app.post(path, webhooks(receiver));
    app.all(path, (c) => control(c.req.raw));
  }
  return app;
}
