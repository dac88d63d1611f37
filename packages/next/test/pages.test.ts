import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { webhooks } from "@svc-webhooks/next/pages";
import type { NextApiHandler, NextApiRequest, NextApiResponse } from "next";
import { describe, expect, expectTypeOf, test } from "vitest";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { observedReceiver, type ObservedReceiver } from "@svc-webhooks/kit/receivers";
import { listen } from "@svc-webhooks/kit/servers";

const fix =
  "export const config = { api: { bodyParser: false } } from the page itself; " +
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config";

type Touch = (request: IncomingMessage & { body?: unknown }) => unknown;

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Serves an observed receiver in a page; `touch` does what Next.js or a wrapper does to the request first. */
async function serve(
  touch: Touch = () => {},
  options: Parameters<typeof observedReceiver>[0] = {},
): Promise<ObservedReceiver & { readonly port: number }> {
  const observed = observedReceiver(options);
  const page = webhooks(observed.receiver);
  const listener: RequestListener = async (request, response) => {
    await touch(request);
    await page(request, response);
  };
  return { ...observed, port: await listen(listener) };
}

test("a page without the parser passes on the exact bytes", async () => {
  const bodies: Uint8Array[] = [];
  const { port } = await serve(undefined, {
    on: { "*": (_event, { delivery }) => bodies.push(delivery.body) },
  });
  const delivery = await signed(`\uFEFF${eventBody()}\r\n`);
  expect(await send(port, delivery)).toMatchObject({ status: 200, code: "processed" });
  expect(bodies).toEqual([delivery.body]);
  expect(await send(port, delivery, { chunked: true })).toMatchObject({ code: "duplicate" });
});

describe("a page whose parser is on", () => {
  test.each<[string, (bytes: Buffer) => unknown, string]>([
    ["JSON", (bytes) => JSON.parse(bytes.toString()) as unknown, "a parsed value"],
    ["text", (bytes) => bytes.toString(), "text"],
    ["an unparsed body", () => ({}), "a parsed value"],
  ])("logs how to turn it off: %s", async (_what, parse, kind) => {
    const { port, lines, codes } = await serve(async (request) => {
      request.body = parse(await bytesOf(request));
    });
    expect(await send(port, await signed())).toMatchObject({
      status: 500,
      text: '{"error":{"code":"body_unavailable","message":"body unavailable"}}',
    });
    expect(codes()).toEqual(["body_unavailable"]);
    expect(lines).toEqual([
      `svc-webhooks default: body_unavailable: a body parser has left ${kind} in req.body ` +
        `and discarded the bytes; ${fix}`,
    ]);
  });

  test("processes a delivery whose bytes the parser kept, as it does for other content types", async () => {
    const { port } = await serve(async (request) => {
      request.body = await bytesOf(request);
    });
    expect(await send(port, await signed(` ${eventBody()}`))).toMatchObject({ code: "processed" });
  });
});

test("a page logs the fix if something else has read the request", async () => {
  const { port, lines } = await serve(bytesOf);
  expect(await send(port, await signed())).toMatchObject({ code: "body_unavailable" });
  expect(lines).toEqual([
    expect.stringContaining(`the request stream has been read before; ${fix}`),
  ]);
});

test("a page logs nothing for unsigned requests", async () => {
  const { port, lines } = await serve(bytesOf);
  expect(await send(port, unsigned())).toMatchObject({ status: 401, code: "signature_missing" });
  expect(lines).toEqual([]);
});

test("a page responds 405 to other methods", async () => {
  const { port } = await serve();
  const nothing = { headers: {}, body: Buffer.alloc(0) };
  for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    expect(await send(port, nothing, { method })).toMatchObject({
      status: 405,
      headers: { allow: "POST" },
    });
  }
  const head = await send(port, nothing, { method: "HEAD" });
  expect(head).toMatchObject({ status: 405, text: "" });
});

test("a page has the type of a Next.js API handler", () => {
  const page = webhooks({ receive: observedReceiver().receiver.receive });
  expectTypeOf(page).toExtend<NextApiHandler>();
  const handler: NextApiHandler<{ anything: string }> = page;
  expect(handler).toBe(page);
  // Proves that these types resolve and are not `any`.
  expectTypeOf<NextApiRequest>().toExtend<IncomingMessage>();
  expectTypeOf<NextApiResponse>().toExtend<ServerResponse>();
  expectTypeOf<NextApiHandler>().not.toBeAny();
});
