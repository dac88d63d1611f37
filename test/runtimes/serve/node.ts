import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { nodeApps } from "../apps/node.js";
import { webApp } from "../apps/web.js";

const web = getRequestListener((request) => webApp(request));

const server = createServer((request, response) => {
  const listener = nodeApps[request.url?.split("/")[1] ?? ""] ?? web;
  listener(request, response);
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
