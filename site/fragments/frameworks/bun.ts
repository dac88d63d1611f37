import type { FrameworkFragment } from "../framework.js";
import { serverModule } from "./server.js";

export const bun: FrameworkFragment = {
  name: "bun",
  title: "Bun",
  mountedWith: "receiver.fetch",
  tested: ["Bun", "1"],
  manager: "bun",
  install: "svc-webhooks",
  place: () => "Run this file with `bun server.ts`:",
  module: serverModule,
};
