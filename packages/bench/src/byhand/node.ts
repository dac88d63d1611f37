import {
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { ByHandOptions } from "./accept.js";
import { receiverByHand } from "./receive.js";

const maxBodyBytes = 2 ** 20;

/** The hand-written receiver in `node:http`. */
export function webhooksByHand(options: ByHandOptions): RequestListener {
  const receive = receiverByHand(options);

  return async (request, response) => {
    if (request.method !== "POST") return send(response, 405);
    try {
      const body = await readBody(request);
      send(response, body ? await receive(request.headers, body) : 413);
    } catch {
      // The client went away while it sent the body.
      response.destroy();
    }
  };
}

/** The bytes as they came, or nothing if they are too many. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"]) > maxBodyBytes) return resolve(undefined);
    const chunks: Buffer[] = [];
    let length = 0;
    // Not `for await`: to leave its loop early destroys the connection that has to carry the 413.
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBodyBytes) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

function send(response: ServerResponse, status: number): void {
  const body = JSON.stringify({ status: STATUS_CODES[status] });
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}
