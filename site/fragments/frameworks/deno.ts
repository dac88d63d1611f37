import type { FrameworkFragment } from "../framework.js";
import { serverModule } from "./server.js";

export const deno: FrameworkFragment = {
  name: "deno",
  title: "Deno",
  mountedWith: "receiver.fetch",
  tested: ["Deno", "2"],
  manager: "deno",
  install: "npm:svc-webhooks",
  place: () => "Run this file with `deno serve --allow-env server.ts`:",
  module: serverModule,
};
