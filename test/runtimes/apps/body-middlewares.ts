import type { BodyMiddleware } from "@svc-webhooks/testing/adapter";

/** Each middleware has its own path and receiver. */
export const bodyMiddlewares: readonly BodyMiddleware[] = [
  "none",
  "parses",
  "buffers",
  "truncates",
];

/** Runs the middleware on a web-standard request. Resolves to the request that the adapter receives. */
export async function afterMiddleware(
  request: Request,
  middleware: BodyMiddleware,
): Promise<Request> {
  switch (middleware) {
    case "none":
      return request;
    case "parses":
      await request.json();
      return request;
    case "buffers":
      await request.clone().arrayBuffer();
      return request;
    case "truncates":
      return truncated(request);
  }
}

/** Returns the same request without the last byte of its body. */
export async function truncated(request: Request): Promise<Request> {
  const { method, headers } = request;
  const body = (await request.arrayBuffer()).slice(0, -1);
  return new Request(request.url, { method, headers, body });
}
