import type { IncomingMessage, RequestListener } from "node:http";
import {
  answer,
  type Answer,
  type BodyReader,
  type Delivery,
  type HeaderValue,
  type Outcome,
  type Receiver,
} from "@svc-webhooks/core";
import { readRawBody } from "@svc-webhooks/node";
import type { Before } from "@svc-webhooks/testing";
import type { TouchedRequest } from "../support/servers.js";

/** A delivery whose body nobody has read. */
export type Unread = Delivery & { readonly body: BodyReader };

/** What an adapter does, in the parts that can each go wrong. */
export interface Adapter {
  readonly header: (request: TouchedRequest, name: string) => HeaderValue;
  readonly read: (request: TouchedRequest, limit: number) => Promise<Uint8Array>;
  readonly receive: (
    receiver: Receiver,
    delivery: Unread,
    request: TouchedRequest,
  ) => Promise<Outcome>;
  readonly answer: (outcome: Outcome, request: TouchedRequest) => Answer;
}

/** An adapter for `node:http` without a mistake. */
export const goodAdapter: Adapter = {
  header: ({ headers }, name) => headers[name],
  read: readRawBody,
  receive: (receiver, delivery) => receiver.receive(delivery),
  answer,
};

/** An adapter as `node:http` serves it, behind what is done to requests before. */
export function mounted(adapter: Adapter, receiver: Receiver, before: Before): RequestListener {
  return async (request, response) => {
    try {
      await touch[before](request);
      const delivery = {
        method: request.method ?? "",
        headers: (name: string) => adapter.header(request, name),
        body: (limit: number) => adapter.read(request, limit),
        fix: "let nothing read the request first",
      };
      const outcome = await adapter.receive(receiver, delivery, request);
      const { status, headers, body } = adapter.answer(outcome, request);
      response.writeHead(status, headers).end(body);
    } catch {
      // As frameworks answer what their handlers throw; a wait for nothing would be as wrong, but longer.
      response.writeHead(500).end();
    }
  };
}

const touch: Readonly<Record<Before, (request: TouchedRequest) => unknown>> = {
  nothing: () => {},
  async parser(request) {
    request.body = JSON.parse((await bytesOf(request)).toString());
  },
  async keeper(request) {
    request.rawBody = await bytesOf(request);
  },
  async cutter(request) {
    request.rawBody = (await bytesOf(request)).subarray(0, -1);
  },
};

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
