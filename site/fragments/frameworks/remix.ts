import type { FrameworkFragment } from "../framework.js";
import { actionModule } from "./action.js";

export const remix: FrameworkFragment = {
  name: "remix",
  title: "Remix",
  mountedWith: "receiver.fetch",
  tested: ["Remix", "2"],
  install: "svc-webhooks    # in a Remix project",
  place: ({ path }) =>
    `Add a resource route, \`app/routes/${path.slice(1).replaceAll("/", ".")}.ts\`:`,
  module: actionModule,
};
