import { webApp } from "../apps/web.js";

declare const Bun: {
  serve(options: { hostname: string; port: number; fetch(request: Request): Promise<Response> }): {
    port: number;
  };
};

const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => webApp(request),
});
console.log(port);
