import { Readable } from "node:stream";
import type { Target } from "./target.js";

/** The statuses whose responses have no body. */
const bodiless = new Set([204, 205, 304]);

/** Returns a `fetch` for URLs on the target's host. It connects only to the addresses that were checked. */
export const fetchFrom =
  (target: Target) =>
  async (
    url: string,
    { method = "GET", headers, body, signal }: RequestInit,
  ): Promise<Response> => {
    const outgoing = {
      method,
      headers: Array.from(new Headers(headers)),
      body: Buffer.from(typeof body === "string" ? body : ""),
    };
    const incoming = await target
      .at(new URL(url))
      .send(outgoing, signal ?? new AbortController().signal);
    const { statusCode: status = 0, rawHeaders } = incoming;
    const received = new Headers();
    for (let index = 0; index < rawHeaders.length; index += 2) {
      received.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
    }
    if (bodiless.has(status)) incoming.resume();
    const content = bodiless.has(status) ? null : (Readable.toWeb(incoming) as ReadableStream);
    return new Response(content, { status, headers: received });
  };
