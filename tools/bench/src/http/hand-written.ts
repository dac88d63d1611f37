import {
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import express, { type RequestHandler } from "express";
import type { Context, Handler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { HandWrittenReceiver } from "../hand-written.js";

const maxBodyBytes = 2 ** 20;

/** Mounts the hand-written receiver in `node:http`, where it reads the request stream. */
export const onStream =
  (receive: HandWrittenReceiver): RequestListener =>
  async (request, response) => {
    if (request.method !== "POST") return send(response, 405);
    try {
      const body = await readBody(request);
      send(response, body ? await receive(request.headers, body) : 413);
    } catch {
      // The client disconnected while sending the body, or the store failed.
      response.destroy();
    }
  };

/** Reads the body. Resolves to undefined if it is too large. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"]) > maxBodyBytes) return resolve(undefined);
    const chunks: Buffer[] = [];
    let length = 0;
    // Does not use `for await`: leaving its loop early destroys the connection that must carry the 413.
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

/** Mounts the hand-written receiver in Express. */
export const inExpress = (receive: HandWrittenReceiver): RequestHandler[] => [
  // Does not inflate the body, because the signature covers the bytes before decompression.
  express.raw({ type: () => true, limit: maxBodyBytes, inflate: false }),
  async (request, response) => {
    const body: Buffer = request.body ?? Buffer.alloc(0);
    const status = await receive(request.headers, body);
    response.status(status).json({ status: STATUS_CODES[status] });
  },
];

// Casts the status, because Hono's types require a literal.
const respond = (c: Context, status: number) =>
  c.json({ status: STATUS_CODES[status] }, status as ContentfulStatusCode);

/** Mounts the hand-written receiver in Hono. */
export function inHono(receive: HandWrittenReceiver): Handler {
  const countBytes = bodyLimit({ maxSize: maxBodyBytes });
  return async (c) => {
    const length = c.req.header("content-length");
    if (Number(length) > maxBodyBytes) return respond(c, 413);
    // Counting turns the body into a stream, which takes 108 µs instead of 32. So only bodies without a length are
    // counted.
    if (length === undefined) await countBytes(c, async () => {});
    const body = Buffer.from(await c.req.arrayBuffer());
    const headers = {
      "x-svc-signature": c.req.header("x-svc-signature"),
      "x-svc-delivery-id": c.req.header("x-svc-delivery-id"),
    };
    return respond(c, await receive(headers, body));
  };
}
