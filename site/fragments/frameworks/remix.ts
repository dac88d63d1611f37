import { moduleOf, secretFunction } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const remix: FrameworkFragment = {
  name: "remix",
  title: "Remix",
  mountedWith: "receiver.fetch",
  tested: ["Remix", "2"],
  install: "svc-webhooks    # in a Remix project",
  place: ({ path }) =>
    `Add a resource route, \`app/routes/${path.slice(1).replaceAll("/", ".")}.ts\`:`,
  module: (receiver) =>
    moduleOf(receiver, {
      secret: secretFunction,
      mount: `
        export const action = ({ request }: { request: Request }) => receiver.fetch(request);
        ${receiver.takesGet ? "export const loader = action;" : ""}`,
    }),
};
