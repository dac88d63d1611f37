import { moduleOf, secretFunction } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const astro: FrameworkFragment = {
  name: "astro",
  title: "Astro",
  mountedWith: "receiver.fetch",
  tested: ["Astro", "7"],
  install: "svc-webhooks    # in an Astro project",
  place: ({ path }) => `In a project with a server adapter, create \`src/pages${path}.ts\`:`,
  module: (receiver) =>
    moduleOf(receiver, {
      secret: secretFunction,
      mount: `
        export const prerender = false;
        export const ${receiver.takesGet ? "ALL" : "POST"} = ({ request }: { request: Request }) => receiver.fetch(request);`,
    }),
};
