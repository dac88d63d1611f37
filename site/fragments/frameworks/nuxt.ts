import { moduleOf, secretFunction } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

export const nuxt: FrameworkFragment = {
  name: "nuxt",
  title: "Nuxt",
  mountedWith: "receiver.fetch",
  tested: ["Nuxt", "4"],
  install: "svc-webhooks    # in a Nuxt project",
  place: ({ path, takesGet }) => `Create \`server/routes${path}${takesGet ? "" : ".post"}.ts\`:`,
  module: (receiver) =>
    moduleOf(receiver, {
      imports: ['import { fromWebHandler } from "h3";'],
      secret: secretFunction,
      mount: "export default fromWebHandler((request) => receiver.fetch(request));",
    }),
};
