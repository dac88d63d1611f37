import { webApp } from "../apps/web.js";

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(address: { port: number }): void },
    fetch: (request: Request) => Promise<Response>,
  ): unknown;
};

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) },
  (request) => webApp(request),
);
