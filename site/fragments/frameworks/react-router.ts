import type { FrameworkFragment } from "../framework.js";
import { actionModule } from "./action.js";

export const reactRouter: FrameworkFragment = {
  name: "react-router",
  title: "React Router",
  mountedWith: "receiver.fetch",
  tested: ["React Router", "8"],
  install: "svc-webhooks    # in a React Router project",
  place: ({ path }) =>
    `Add a resource route, \`app/routes${path}.ts\`, and list it in \`app/routes.ts\`: \`route("${path.slice(1)}", "routes${path}.ts")\`.`,
  module: actionModule,
};
