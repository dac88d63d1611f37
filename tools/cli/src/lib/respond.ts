import type { IncomingMessage, ServerResponse } from "node:http";

interface Content {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | undefined;
}

/**
 * Sends a response. If the request's body was not read to its end, discards the rest before ending the response.
 * Otherwise, Node could close the connection, and a sender that is still writing would lose the response.
 */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body = new Uint8Array() }: Content,
): void {
  if (request.complete || request.destroyed) {
    response.writeHead(status, headers);
    response.end(body);
    return;
  }
  response.writeHead(status, { ...headers, "Content-Length": body.length });
  response.flushHeaders();
  response.write(body);
  request.once("close", () => response.end());
  request.resume();
}
