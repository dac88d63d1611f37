import { moduleOf, secretFunction } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const sveltekit: FrameworkFragment = {
  name: "sveltekit",
  title: "SvelteKit",
  mountedWith: "receiver.fetch",
  tested: ["SvelteKit", "3"],
  install: "svc-webhooks    # in a SvelteKit project",
  place: ({ path }) => `Create \`src/routes${path}/+server.ts\`:`,
  module: (receiver) =>
    moduleOf(receiver, {
      secret: secretFunction,
      mount: `
        export const POST = ({ request }: { request: Request }) => receiver.fetch(request);
        ${receiver.takesGet ? "export const GET = POST;" : ""}`,
    }),
};
