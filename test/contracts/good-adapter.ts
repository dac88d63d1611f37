import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
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
import type { BodyMiddleware } from "@svc-webhooks/testing/adapter";
import type { TouchedRequest } from "@svc-webhooks/kit/servers";

/** A delivery whose body has not been read yet. */
export type UnreadDelivery = Delivery & { readonly body: BodyReader };

/** An adapter, split into the parts that bad adapters replace. */
export interface Adapter {
  readonly header: (request: TouchedRequest, name: string) => HeaderValue;
  readonly read: (request: TouchedRequest, limit: number) => Promise<Uint8Array>;
  readonly receive: (
    receiver: Receiver,
    delivery: UnreadDelivery,
    request: TouchedRequest,
  ) => Promise<Outcome>;
  readonly answer: (outcome: Outcome, request: TouchedRequest) => Answer;
}

/** A correct adapter for `node:http`. */
export const goodAdapter: Adapter = {
  header: ({ headers }, name) => headers[name],
  read: readRawBody,
  receive: (receiver, delivery) => receiver.receive(delivery),
  answer,
};

/** Mounts an adapter in `node:http`, behind body middleware. */
export function mounted(
  adapter: Adapter,
  receiver: Receiver,
  bodyMiddleware: BodyMiddleware,
): RequestListener {
  return async (request, response) => {
    try {
      await runMiddleware[bodyMiddleware](request);
      const delivery = {
        method: request.method ?? "",
        url: request.url,
        headers: (name: string) => adapter.header(request, name),
        body: (limit: number) => adapter.read(request, limit),
        fix: "let nothing read the request first",
      };
      const outcome = await adapter.receive(receiver, delivery, request);
      const { status, headers, body } = adapter.answer(outcome, request);
      response.writeHead(status, headers).end(body);
    } catch {
      // Frameworks respond to an error like this. Without a response, the case would fail as well, only later.
      response.writeHead(500).end();
    }
  };
}

const runMiddleware: Readonly<Record<BodyMiddleware, (request: TouchedRequest) => unknown>> = {
  none: () => {},
  async parses(request) {
    request.body = JSON.parse(String(await buffer(request)));
  },
  async buffers(request) {
    request.rawBody = await buffer(request);
  },
  async truncates(request) {
    request.rawBody = (await buffer(request)).subarray(0, -1);
  },
};
