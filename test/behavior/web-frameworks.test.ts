import { getRequestListener } from "@hono/node-server";
import { createReceiver, type Receiver } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { webhooks as nextWebhooks } from "@svc-webhooks/next";
import { webhooks as pagesWebhooks } from "@svc-webhooks/next/pages";
import { Hono, type Context } from "hono";
import { NextRequest } from "next/server.js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dial, requestHead, send } from "@svc-webhooks/kit/clients";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { expresses, listen } from "@svc-webhooks/kit/servers";
import { codeOf, hosts, initOf } from "@svc-webhooks/kit/web";

const signedInit = async (...delivery: Parameters<typeof signed>) =>
  initOf(await signed(...delivery));

// Parsing drops the byte order mark, and the re-encoded body would not match the signature.
const marked = `\uFEFF${eventBody()}`;

describe.each(hosts)("Hono, $host", ({ serve }) => {
  test.each<[string, (c: Context) => Promise<unknown>]>([
    ["arrayBuffer()", (c) => c.req.arrayBuffer()],
    ["blob()", (c) => c.req.blob()],
  ])("trap 16: c.req.%s consumes c.req.raw, and the cached bytes are used", async (_how, read) => {
    const { receiver } = observedReceiver();
    const used: boolean[] = [];
    const app = new Hono()
      .use(async (c, next) => {
        await read(c);
        used.push(c.req.raw.bodyUsed);
        await next();
      })
      .post("/", webhooks(receiver));
    const ask = await serve(app);
    expect(await codeOf(await ask("/", await signedInit(marked)))).toBe("processed");
    expect(used).toEqual([true]);
  });

  test.each<[string, (c: Context) => Promise<unknown>]>([
    ["text()", (c) => c.req.text()],
    ["json()", (c) => c.req.json().catch(() => {})],
  ])(
    "trap 16: the lossy bytes that Hono derives from c.req.%s are not used",
    async (_how, read) => {
      const { receiver, codes, lines } = observedReceiver();
      const lengths: number[] = [];
      const app = new Hono()
        .use(async (c, next) => {
          await read(c);
          lengths.push((await c.req.arrayBuffer()).byteLength);
          await next();
        })
        .post("/", webhooks(receiver));
      const ask = await serve(app);
      expect((await ask("/", await signedInit(marked))).status).toBe(500);
      expect(lengths).toEqual([Buffer.byteLength(marked) - 3]);
      expect(codes()).toEqual(["body_unavailable"]);
      expect(lines).toEqual([expect.stringContaining("read it with c.req.arrayBuffer()")]);
    },
  );

  test("trap 48: a receiver made from c.env is built once, although each request has its own c.env", async () => {
    const environments = new Set<unknown>();
    const make = vi.fn<(c: Context) => Receiver>(() =>
      createReceiver({ secret, on: { "*": () => {} } }),
    );
    const app = new Hono()
      .use(async (c, next) => {
        environments.add(c.env);
        await next();
      })
      .post("/", webhooks(make));
    const ask = await serve(app);
    expect(make).not.toHaveBeenCalled();
    const codes = [];
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      codes.push(await codeOf(await ask("/", await signedInit())));
    }
    expect(environments.size).toBe(3);
    expect(codes).toEqual(["processed", "duplicate", "duplicate"]);
    expect(make).toHaveBeenCalledTimes(1);
  });
});

describe("Hono on a Node server with insecureHTTPParser", () => {
  // Node's default parser rejects a request with both headers. This parser accepts it.
  test("a Content-Length next to Transfer-Encoding does not lift maxBodyBytes", async () => {
    const { receiver, codes } = observedReceiver({ maxBodyBytes: 1_000 });
    const app = new Hono().post("/webhooks", webhooks(receiver));
    const port = await listen(getRequestListener(app.fetch), { insecureHTTPParser: true });
    const { headers } = await signed(marked, {
      "content-length": "5",
      "transfer-encoding": "chunked",
    });
    const { write, response } = dial(port);
    // The body never ends, so only a reader that counts its bytes responds before `bodyTimeoutMs`.
    write(`${requestHead(headers)}400\r\n${" ".repeat(1_024)}\r\n`);
    expect(await response).toMatch(/^HTTP\/1\.1 413 /);
    expect(codes()).toEqual(["body_too_large"]);
  });
});

describe("Next.js, App Router", () => {
  const url = "https://example.org/api/webhooks";

  test("trap 17: a request that was already read is reported, and neither awaited nor treated as forged", async () => {
    const { receiver, codes, lines } = observedReceiver();
    const request = new Request(url, await signedInit(marked));
    await request.text();
    expect((await nextWebhooks(receiver).POST(request)).status).toBe(500);
    expect(codes()).toEqual(["body_unavailable"]);
    expect(lines).toEqual([expect.stringContaining("let nothing read the request before")]);
  });

  test("trap 17: accepts a Request as well as a NextRequest, and ignores a second argument", async () => {
    const { receiver } = observedReceiver();
    const { POST } = nextWebhooks(receiver);
    const context = { params: Promise.resolve({ tenant: "1" }) };
    const init = await signedInit();
    expect(await codeOf(await POST(new Request(url, init)))).toBe("processed");
    expect(await codeOf(await POST(new Request(url, init), context))).toBe("duplicate");
    const nextRequest = new NextRequest(url, {
      method: "POST",
      headers: init.headers ?? {},
      body: init.body ?? null,
    });
    expect(await codeOf(await POST(nextRequest, context))).toBe("duplicate");
  });

  test("trap 17: a secret that is missing at build time does not fail the build, and is read later", async () => {
    const lines: string[] = [];
    const variable = "SVC_WEBHOOK_SECRET_OF_THIS_TEST";
    onTestFinished(() => void delete process.env[variable]);
    const { POST } = nextWebhooks(
      createReceiver({
        secret: () => process.env[variable] ?? "",
        on: { "*": () => {} },
        log: (line) => lines.push(line),
      }),
    );
    expect(await codeOf(await POST(new Request(url, await signedInit())))).toBe("misconfigured");
    expect(lines).toEqual([expect.stringMatching(/misconfigured: `secret\(\)` is empty/)]);
    process.env[variable] = secret;
    expect(await codeOf(await POST(new Request(url, await signedInit())))).toBe("processed");
  });
});

test("trap 17: in the Pages Router, a parser that was left on is reported with the line that the page needs", async () => {
  const { receiver, codes, lines } = observedReceiver();
  const page = pagesWebhooks(receiver);
  // Express stands in for Next.js here: both parse JSON into `body` and discard the bytes.
  const app = expresses[1].express();
  app.use(expresses[1].express.json(), (request, response) => page(request, response));
  const reply = await send(await listen(app as Parameters<typeof listen>[0]), await signed());
  expect(reply).toMatchObject({ status: 500, code: "body_unavailable" });
  expect(codes()).toEqual(["body_unavailable"]);
  expect(lines).toEqual([
    expect.stringContaining("export const config = { api: { bodyParser: false } }"),
  ]);
});
