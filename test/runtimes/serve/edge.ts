import { webApp } from "../apps/web.js";

interface FetchEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
  waitUntil(work: Promise<unknown>): void;
}

declare function addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;

addEventListener("fetch", (event) => {
  const context = {
    waitUntil: (work: Promise<unknown>) => event.waitUntil(work),
    passThroughOnException: () => {},
    props: {},
  };
  event.respondWith(webApp(event.request, {}, context));
});
