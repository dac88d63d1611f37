import { createServer, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { listening, type Listening } from "./listening.js";

/**
 * Starts the proxy that `HTTP_PROXY` and `HTTPS_PROXY` of a process name. It refuses and reports all requests, except
 * plain HTTP requests to this command's own ports, which it forwards for clients that ignore `NO_PROXY`.
 *
 * @param ownPorts returns those ports
 * @param onRefused called with a phrase for each refused request
 */
export function refusingProxy(
  ownPorts: () => readonly number[],
  onRefused: (access: string) => void,
): Promise<Listening> {
  const refused = (host: string) => {
    onRefused(`a request to ${host}, refused`);
    return `svc-webhooks crash-test does not forward requests to ${host}.\n`;
  };
  const server = createServer((incoming, response) => {
    const { url = "", method, headers } = incoming;
    const target = URL.canParse(url) ? new URL(url) : undefined;
    const isOwn =
      target !== undefined &&
      /^(?:127\.0\.0\.1|localhost)$/.test(target.hostname) &&
      ownPorts().includes(Number(target.port));
    if (!isOwn) {
      incoming.resume();
      response.writeHead(502, { "Content-Type": "text/plain", Connection: "close" });
      response.end(refused(target?.host ?? headers.host ?? "an unknown host"));
      return;
    }
    const sending = httpRequest(target, { method, headers, agent: false });
    sending.once("response", (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
      reply.pipe(response);
    });
    sending.on("error", () => incoming.socket.destroy());
    incoming.pipe(sending);
  });
  server.on("connect", ({ url = "" }, socket: Socket) => {
    const text = refused(url.replace(/:443$/, ""));
    socket.end(
      `HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
  });
  return listening(server, new Set<Socket>());
}
