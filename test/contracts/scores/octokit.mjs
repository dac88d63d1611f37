// @octokit/webhooks as its README mounts it.
import { createServer } from "node:http";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import { handle, port, secret } from "./handler.mjs";

const webhooks = new Webhooks({ secret });
webhooks.onAny(({ payload }) => handle(payload));
createServer(createNodeMiddleware(webhooks, { path: "/webhooks" })).listen(port, "127.0.0.1");
