import type { RequestListener } from "node:http";
import { webhooks } from "@svc-webhooks/express";
import { describe, expect, test } from "vitest";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { serverProcess } from "@svc-webhooks/kit/server-process";
import { expresses, listen } from "@svc-webhooks/kit/servers";

const fix =
  "mount webhooks() before express.json() and other body parsers, or let the parser keep the bytes: " +
  "express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes; } })";

describe.each(expresses)("$name", ({ name, express }) => {
  type Build = (app: ReturnType<typeof express>, handler: ReturnType<typeof webhooks>) => unknown;

  /** Serves an observed receiver in an app; `build` mounts its handler and other middleware. */
  async function serve(build: Build, options: Parameters<typeof observedReceiver>[0] = {}) {
    const observed = observedReceiver(options);
    const app = express();
    build(app, webhooks(observed.receiver));
    // Express types its apps for its own request class.
    return { ...observed, port: await listen(app as RequestListener) };
  }

  test("is the version that the test names", () => {
    expect("lazyrouter" in express.application).toBe(name === "Express 4");
  });

  test.each<[string, number, Build]>([
    ["app.post", 404, (app, handler) => app.post("/webhooks", handler)],
    ["app.all", 405, (app, handler) => app.all("/webhooks", handler)],
    ["app.use", 405, (app, handler) => app.use("/webhooks", handler)],
    ["a router", 404, (app, handler) => app.use(express.Router().post("/webhooks", handler))],
  ])("accepts the handler in %s, where other methods get %i", async (_where, status, build) => {
    const { port } = await serve(build);
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
    for (const method of ["GET", "PUT", "DELETE"]) {
      expect(await send(port, unsigned(""), { method })).toMatchObject({ status });
    }
  });

  test("never calls next(), whatever the outcome", async () => {
    const reached: unknown[] = [];
    const fails = () => Promise.reject(new Error("no"));
    const build: Build = (app, handler) => {
      app.use(handler);
      app.use((_request, response) => void response.end(reached.push("next")));
      app.use((error: unknown, _request: unknown, response: { end(): void }, _next: unknown) => {
        reached.push(error);
        response.end();
      });
    };
    const { port } = await serve(build, { on: { fails, "*": () => {} } });
    const failing = await signed(eventBody("fails"), { "x-svc-delivery-id": "dlv_2" });
    const codes = [];
    for (const delivery of [await signed(), failing, await signed("{"), unsigned()]) {
      codes.push((await send(port, delivery)).code);
    }
    expect(codes).toEqual(["processed", "handler_failed", "malformed_body", "signature_missing"]);
    expect(reached).toEqual([]);
  });

  test.each([
    ["json", express.json(), "application/json", "a parsed value"],
    ["text", express.text(), "text/plain", "text"],
    [
      "urlencoded",
      express.urlencoded({ extended: true }),
      "application/x-www-form-urlencoded",
      "a parsed value",
    ],
  ])("logs the fix behind express.%s()", async (_name, parser, contentType, kind) => {
    const { port, codes, lines } = await serve((app, handler) => app.use(parser, handler));
    await send(port, await signed(eventBody(), { "content-type": contentType }));
    expect(codes()).toEqual(["body_unavailable"]);
    expect(lines).toEqual([
      expect.stringContaining(
        `body_unavailable: a body parser has left ${kind} in req.body and discarded the bytes; ${fix}`,
      ),
    ]);
  });

  test.each([
    ["an announced", false],
    ["a chunked", true],
  ])("responds 400 to %s empty body behind express.json()", async (_framing, chunked) => {
    const { port } = await serve((app, handler) => app.use(express.json(), handler));
    const reply = await send(port, await signed(""), { chunked });
    expect(reply).toMatchObject({ status: 400, code: "malformed_body" });
  });

  // An unhandled rejection would end the process.
  test("keeps its process running after a response that cannot be sent", async () => {
    const { port } = await serverProcess(
      name,
      `(request, response, next) => {
        if (request.headers["x-break"]) response.writeHead = () => { throw new Error("patched"); };
        next();
      }`,
    );
    const breaking = await signed(eventBody(), { "x-break": "1" });
    await expect(send(port, breaking)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await send(port, await signed())).toMatchObject({ code: "duplicate" });
  });
});
