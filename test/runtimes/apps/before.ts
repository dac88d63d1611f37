import type { Before } from "@svc-webhooks/testing";

/** Every way a request can reach an adapter; each has a path and a receiver of its own. */
export const ways: readonly Before[] = ["nothing", "parser", "keeper", "cutter"];

/** What is done to a web-standard request before its adapter gets it. */
export async function touched(request: Request, before: Before): Promise<Request> {
  switch (before) {
    case "nothing":
      return request;
    case "parser":
      await request.json();
      return request;
    case "keeper":
      await request.clone().arrayBuffer();
      return request;
    case "cutter":
      return cut(request);
  }
}

/** The same request without the end of its body. */
export async function cut(request: Request): Promise<Request> {
  const { method, headers } = request;
  const body = (await request.arrayBuffer()).slice(0, -1);
  return new Request(request.url, { method, headers, body });
}
