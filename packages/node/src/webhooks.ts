import type { IncomingMessage, ServerResponse } from "node:http";
import {
  answer,
  type Answer,
  type Outcome,
  type OutcomeCode,
  type Receiver,
} from "@svc-webhooks/core";
import { readRawBody } from "./read-raw-body.js";

/** Takes a request of `node:http` and of whatever is built on it. Never rejects. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface NodeOptions {
  /** What the printed line of `body_unavailable` advises. For adapters built on this one: their framework's fix. */
  readonly fix?: string | undefined;
}

/**
 * Mounts a receiver in `node:http`: `createServer(webhooks(receiver))`. It answers every request it
 * gets, so put it behind your routing.
 */
export function webhooks(
  receiver: Pick<Receiver, "receive">,
  { fix = "let the receiver read the request first" }: NodeOptions = {},
): NodeHandler {
  return async (request, response) => {
    try {
      const outcome = await receiver.receive({
        method: request.method ?? "",
        headers: (name) => request.headers[name],
        body: (limit) => readRawBody(request, limit),
        fix,
      });
      send(response, answerTo(outcome));
    } catch (error) {
      // Only middleware that patched the response gets here. Without an end the sender would wait for ever.
      console.error("svc-webhooks: the answer could not be sent:", error);
      response.destroy();
    }
  };
}

const made = new Map<OutcomeCode, Answer>();

/** The answer with its length. One that names no time is made once: to copy its headers takes longer than to hash a body. */
function answerTo(outcome: Outcome): Answer {
  const { code, retryAfterMs } = outcome;
  const known = made.get(code);
  if (known && retryAfterMs === undefined) return known;
  const { status, headers, body } = answer(outcome);
  const length = String(Buffer.byteLength(body));
  const ready = { status, headers: { ...headers, "Content-Length": length }, body };
  if (retryAfterMs === undefined) made.set(code, ready);
  return ready;
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  // The client is gone, or a timeout middleware has answered in the meantime.
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, headers).end(body);
}
