/*
 * Serves a program that has no server of its own, on `PORT`: `node serve.mjs <program>`. The program exports the route of a
 * web framework (`POST`).
 */
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";

const { POST } = await import(pathToFileURL(process.argv[2]).href);

async function respond(request, response) {
  const result = await POST(
    new Request(`http://localhost${request.url}`, {
      method: request.method,
      headers: request.headers,
      body: Readable.toWeb(request),
      duplex: "half",
    }),
  );
  response.writeHead(result.status, Object.fromEntries(result.headers)).end(await result.text());
}

createServer((request, response) => {
  // A framework responds with 500 to an error of a route.
  respond(request, response).catch(() => response.writeHead(500).end());
}).listen(process.env.PORT);
