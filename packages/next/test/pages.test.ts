import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { webhooks } from "@svc-webhooks/next/pages";
import type { NextApiHandler, NextApiRequest, NextApiResponse } from "next";
import { expect, expectTypeOf, test } from "vitest";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { listen, type TouchedRequest } from "@svc-webhooks/kit/servers";

const fix =
  "export const config = { api: { bodyParser: false } } from the page itself; " +
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config (in Next.js 15, middlewareClientMaxBodySize)";

/** Serves a page. `touch` changes the request first, as Next.js or a wrapper does. */
async function serve(touch: (request: TouchedRequest) => unknown) {
  const observed = observedReceiver();
  const page = webhooks(observed.receiver);
  const port = await listen(async (request, response) => {
    await touch(request);
    await page(request, response);
  });
  return { ...observed, port };
}

/** Reads the whole body and leaves a value in `req.body`. */
const parsing = (parse: (bytes: Buffer) => unknown) => async (request: TouchedRequest) => {
  request.body = parse(await buffer(request));
};

const discarded = (kind: string) =>
  `a body parser has left ${kind} in req.body and discarded the bytes`;

test.each([
  ["JSON", (bytes: Buffer): unknown => JSON.parse(bytes.toString()), discarded("a parsed value")],
  ["text", (bytes: Buffer) => bytes.toString(), discarded("text")],
  ["an unparsed body", () => ({}), discarded("a parsed value")],
  ["nothing", () => undefined, "the request stream has been read before"],
])("a page logs the fix if a parser has left %s", async (_what, parse, cause) => {
  const { port, lines, codes } = await serve(parsing(parse));
  expect(await send(port, await signed())).toMatchObject({ status: 500 });
  expect(codes()).toEqual(["body_unavailable"]);
  expect(lines).toEqual([`svc-webhooks default: body_unavailable: ${cause}; ${fix}`]);
});

test("a page processes a delivery whose bytes the parser kept, as it does for other content types", async () => {
  const { port } = await serve(parsing((bytes) => bytes));
  expect(await send(port, await signed(` ${eventBody()}`))).toMatchObject({ code: "processed" });
});

test("a page has the type of a Next.js API handler", () => {
  const page = webhooks({ receive: observedReceiver().receiver.receive });
  expectTypeOf(page).toExtend<NextApiHandler>();
  const handler: NextApiHandler<{ anything: string }> = page;
  expect(handler).toBe(page);
  // This proves that the types resolve and are not `any`.
  expectTypeOf<NextApiRequest>().toExtend<IncomingMessage>();
  expectTypeOf<NextApiResponse>().toExtend<ServerResponse>();
  expectTypeOf<NextApiHandler>().not.toBeAny();
});
