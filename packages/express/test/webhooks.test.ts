import { spawn } from "node:child_process";
import type { RequestListener } from "node:http";
import { fileURLToPath } from "node:url";
import { webhooks } from "@svc-webhooks/express";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { send } from "@svc-webhooks/kit/clients";
import { eventBody, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { observedReceiver, type ObservedReceiver } from "@svc-webhooks/kit/receivers";
import { expresses, listen } from "@svc-webhooks/kit/servers";

const fix =
  "mount webhooks() before express.json() and other body parsers, or let the parser keep the bytes: " +
  "express.json({ verify: (req, _res, bytes) => { req.rawBody = bytes; } })";

describe.each(expresses)("$name", ({ name, express }) => {
  type App = ReturnType<typeof express>;

  /** Serves an observed receiver in an app; `build` mounts its handler and other middleware. */
  async function serve(
    build: (app: App, handler: ReturnType<typeof webhooks>) => unknown,
    options: Parameters<typeof observedReceiver>[0] = {},
  ): Promise<ObservedReceiver & { readonly port: number }> {
    const observed = observedReceiver(options);
    const app = express();
    build(app, webhooks(observed.receiver));
    // Express types its apps for its own request class.
    return { ...observed, port: await listen(app as RequestListener) };
  }

  test("is the version that the test names", () => {
    expect("lazyrouter" in express.application).toBe(name === "Express 4");
  });

  test.each([
    [
      "app.post",
      (app: App, handler: ReturnType<typeof webhooks>) => app.post("/webhooks", handler),
    ],
    ["app.all", (app: App, handler: ReturnType<typeof webhooks>) => app.all("/webhooks", handler)],
    ["app.use", (app: App, handler: ReturnType<typeof webhooks>) => app.use("/webhooks", handler)],
    [
      "a router",
      (app: App, handler: ReturnType<typeof webhooks>) =>
        app.use(express.Router().post("/webhooks", handler)),
    ],
  ])("accepts the handler in %s", async (_where, build) => {
    const { port } = await serve(build);
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
  });

  test("leaves other methods to the app when mounted with app.post", async () => {
    const { port } = await serve((app, handler) => app.post("/webhooks", handler));
    const get = await send(port, { headers: {}, body: Buffer.alloc(0) }, { method: "GET" });
    expect(get.status).toBe(404);
  });

  test("responds 405 to other methods when mounted with app.use", async () => {
    const { port } = await serve((app, handler) => app.use(handler));
    for (const method of ["GET", "PUT", "OPTIONS", "DELETE"]) {
      const reply = await send(port, { headers: {}, body: Buffer.alloc(0) }, { method });
      expect(reply).toMatchObject({ status: 405, headers: { allow: "POST" } });
    }
  });

  test("never calls next(), whatever the outcome", async () => {
    const passed = vi.fn<() => void>();
    const failed = vi.fn<() => void>();
    const { port } = await serve(
      (app, handler) => {
        app.use(handler);
        app.use((_request, response) => {
          passed();
          response.end();
        });
        app.use(
          (
            _error: unknown,
            _request: unknown,
            response: { end: () => void },
            _next: unknown,
          ): void => {
            failed();
            response.end();
          },
        );
      },
      {
        on: {
          "*": ({ type }) => {
            if (type === "fails") throw new Error("no");
          },
        },
      },
    );
    const codes = [];
    for (const delivery of [
      await signed(),
      await signed(eventBody("fails"), { "x-svc-delivery-id": "dlv_2" }),
      await signed("{"),
      unsigned(),
    ]) {
      codes.push((await send(port, delivery)).code);
    }
    expect(codes).toEqual(["processed", "handler_failed", "malformed_body", "signature_missing"]);
    expect(passed).not.toHaveBeenCalled();
    expect(failed).not.toHaveBeenCalled();
  });

  test.each([
    ["json", "application/json", "a parsed value"],
    ["text", "text/plain", "text"],
    ["urlencoded", "application/x-www-form-urlencoded", "a parsed value"],
  ] as const)("logs the fix behind express.%s()", async (parser, contentType, kind) => {
    const parsers = {
      json: express.json(),
      text: express.text(),
      urlencoded: express.urlencoded({ extended: true }),
    };
    const { port, lines } = await serve((app, handler) => app.use(parsers[parser], handler));
    const delivery = await signed(eventBody(), { "content-type": contentType });
    expect(await send(port, delivery)).toMatchObject({
      status: 500,
      text: `{"error":{"code":"body_unavailable","message":"body unavailable"}}`,
    });
    expect(lines).toEqual([
      expect.stringContaining(
        `body_unavailable: a body parser has left ${kind} in req.body and discarded the bytes; ${fix}`,
      ),
    ]);
  });

  test.each(["json", "text", "urlencoded", "raw"] as const)(
    "reads a body that express.%s() has left unread",
    async (parser) => {
      const parsers = {
        json: express.json(),
        text: express.text(),
        urlencoded: express.urlencoded({ extended: true }),
        raw: express.raw(),
      };
      const { port } = await serve((app, handler) => app.use(parsers[parser], handler));
      const delivery = await signed(eventBody(), { "content-type": "application/x-other" });
      expect(await send(port, delivery)).toMatchObject({ code: "processed" });
    },
  );

  test("takes the bytes that express.raw() has read", async () => {
    const { port } = await serve((app, handler) =>
      app.use(express.raw({ type: "application/json" }), handler),
    );
    expect(await send(port, await signed())).toMatchObject({ code: "processed" });
    expect(await send(port, await signed(""))).toMatchObject({ code: "malformed_body" });
  });

  test("takes the bytes that the verify hook of express.json() keeps, as in the logged fix", async () => {
    const { port } = await serve((app, handler) => {
      const keep = (request: object, _response: unknown, bytes: Buffer) =>
        Object.assign(request, { rawBody: bytes });
      app.use(express.json({ verify: keep }), handler);
    });
    expect(await send(port, await signed(` ${eventBody()}\n`))).toMatchObject({
      code: "processed",
    });
  });

  test.each([
    ["an announced", false],
    ["a chunked", true],
  ])("responds 400 to %s empty body behind express.json()", async (_framing, chunked) => {
    const { port } = await serve((app, handler) => app.use(express.json(), handler));
    const reply = await send(port, await signed(""), { chunked });
    expect(reply).toMatchObject({ status: 400, code: "malformed_body" });
  });

  test("reads bodies above the parsers' 100 kB, up to maxBodyBytes", async () => {
    const body = eventBody("email.sent", { html: "x".repeat(200_000) });
    const { port } = await serve((app, handler) => app.use(handler, express.json()), {
      maxBodyBytes: body.length,
    });
    expect(await send(port, await signed(body))).toMatchObject({ code: "processed" });
    expect(await send(port, await signed(`${body} `))).toMatchObject({ status: 413 });
  });

  test("keeps its process running after a response that cannot be sent", async () => {
    const port = await ownProcess(name === "Express 4" ? "express4" : "express");
    const breaking = await signed(eventBody(), { "x-break": "1" });
    await expect(send(port, breaking)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await send(port, await signed())).toMatchObject({ code: "duplicate" });
  });
});

/** Starts a server in a separate process, which an unhandled rejection would end. Resolves to its port. */
async function ownProcess(express: string): Promise<number> {
  const program = `
    import express from ${JSON.stringify(express)};
    import { createReceiver } from "@svc-webhooks/core";
    import { webhooks } from "@svc-webhooks/express";
    const app = express();
    app.use((request, response, next) => {
      if (request.headers["x-break"]) response.writeHead = () => { throw new Error("patched"); };
      next();
    });
    app.use(webhooks(createReceiver({ secret: "whsec_test", on: { "*": () => {} } })));
    const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill());
  return new Promise((resolve, reject) => {
    child.stdout.once("data", (line: Buffer) => resolve(Number(line)));
    child.once("exit", (code) => reject(new Error(`The server exited with code ${code}.`)));
  });
}
