import { moduleOf, secretFunction } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const reactRouter: FrameworkFragment = {
  name: "react-router",
  title: "React Router",
  mountedWith: "receiver.fetch",
  tested: ["React Router", "8"],
  install: "svc-webhooks    # in a React Router project",
  place: ({ path }) =>
    `Add a resource route, \`app/routes${path}.ts\`, and list it in \`app/routes.ts\`: \`route("${path.slice(1)}", "routes${path}.ts")\`.`,
  module: (receiver) =>
    moduleOf(receiver, {
      secret: secretFunction,
      mount: `
        export const action = ({ request }: { request: Request }) => receiver.fetch(request);
        ${receiver.takesGet ? "export const loader = action;" : ""}`,
    }),
};
