import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { request } from "node:https";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { webhooks } from "@svc-webhooks/fastify";
import { signed, unsigned, type TestDelivery } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { key, valid } from "../../../tools/sandbox/test/network/certificates.js";

/** Sends a delivery over HTTP/2. Resolves to the status and the text of the response. */
async function send2(origin: string, { headers, body }: TestDelivery) {
  const client = connect(origin, { ca: valid });
  onTestFinished(() => client.destroy());
  const stream = client.request({ ":method": "POST", ":path": "/webhooks", ...headers });
  stream.end(body);
  const [[received], read] = await Promise.all([
    once(stream, "response") as Promise<[IncomingHttpHeaders]>,
    text(stream),
  ]);
  return [received[":status"], read, received["x-request-id"]];
}

const processed = [200, '{"status":"processed"}', "req-1"];

test("processes deliveries over HTTP/2, with the headers of earlier hooks", async () => {
  const app = Fastify({ http2: true });
  onTestFinished(() => app.close());
  app.addHook("onRequest", async ({ id }, reply) => {
    reply.header("x-request-id", id);
  });
  app.register(webhooks, { receiver: observedReceiver().receiver });
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  expect(await send2(origin, await signed())).toEqual(processed);
  expect((await send2(origin, unsigned()))[0]).toBe(401);
});

test("processes deliveries over HTTP/2 and HTTP/1 on the same port", async () => {
  const app = Fastify({ http2: true, https: { allowHTTP1: true, key, cert: valid } });
  onTestFinished(() => app.close());
  app.addHook("onRequest", async ({ id }, reply) => {
    reply.header("x-request-id", id);
  });
  app.register(webhooks, { receiver: observedReceiver().receiver });
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  expect(await send2(origin, await signed())).toEqual(processed);

  const { headers, body } = await signed();
  const options = { method: "POST", headers: headers as Record<string, string>, ca: valid };
  const sending = request(`${origin}/webhooks`, { ...options, agent: false }).end(body);
  const [response] = (await once(sending, "response")) as [IncomingMessage];
  expect([response.httpVersion, response.statusCode, await text(response)]).toEqual([
    "1.1",
    200,
    '{"status":"duplicate"}',
  ]);
});
