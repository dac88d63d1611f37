import { createReceiver } from "@svc-webhooks/core";
import { webhooks, type RouteHandler, type RouteHandlers } from "@svc-webhooks/next";
import { after, NextRequest } from "next/server.js";
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from "vitest";
import { secret, signed, unsigned } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { codeOf, initOf, recordingReceiver, signedInit } from "@svc-webhooks/kit/web";

vi.mock("next/server.js", async (importOriginal) => {
  const server = await importOriginal<{ readonly after: typeof after }>();
  return { ...server, after: vi.fn<typeof after>(server.after) };
});

const fix =
  "let nothing read the request before webhooks(); " +
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config (in Next.js 15, middlewareClientMaxBodySize)";

const url = "https://example.org/api/webhooks";
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

const post = async (...delivery: Parameters<typeof signed>) =>
  new Request(url, await signedInit(...delivery));

describe.each([
  ["Request", (init: RequestInit) => new Request(url, init)],
  [
    "NextRequest",
    (init: RequestInit) =>
      new NextRequest(url, init as ConstructorParameters<typeof NextRequest>[1]),
  ],
] as const)("a %s", (_kind, make) => {
  test("is processed, and the handler receives its exact bytes", async () => {
    const { receiver, bodies } = recordingReceiver();
    const { POST } = webhooks(receiver);
    const delivery = await signed(`\uFEFF{"type":"email.sent","n":1.0,"to":"é😀"}\r\n`);
    expect(await codeOf(await POST(make(initOf(delivery))))).toBe("processed");
    expect(bodies).toEqual([delivery.body]);
    expect(await codeOf(await POST(make(initOf(delivery))))).toBe("duplicate");
  });

  test.each<[string, (request: Request) => unknown]>([
    ["text()", (request) => request.text()],
    ["json()", (request) => request.json()],
    ["formData()", (request) => request.formData().catch(() => {})],
    ["arrayBuffer()", (request) => request.arrayBuffer()],
    ["body.getReader(), which locks it", (request) => request.body?.getReader()],
    ["body.cancel()", (request) => request.body?.cancel()],
  ])("whose body was read with %s is unavailable, and the fix is logged", async (_how, read) => {
    const { receiver, codes, lines } = observedReceiver();
    const request = make(await signedInit());
    await read(request);
    expect((await webhooks(receiver).POST(request)).status).toBe(500);
    expect(codes()).toEqual(["body_unavailable"]);
    expect(lines).toEqual([expect.stringMatching(/^svc-webhooks default: body_unavailable: \S/)]);
    expect(lines[0]?.endsWith(`; ${fix}`)).toBe(true);
  });

  test("whose clone was read is processed", async () => {
    const request = make(await signedInit());
    await request.clone().json();
    const response = await webhooks(observedReceiver().receiver).POST(request);
    expect(await codeOf(response)).toBe("processed");
  });

  test("that is unsigned is rejected before its body is read", async () => {
    const request = make(initOf(unsigned()));
    const response = await webhooks(observedReceiver().receiver).POST(request);
    expect(response.status).toBe(401);
    expect(request.bodyUsed).toBe(false);
  });
});

describe("the handlers", () => {
  test("cover exactly the methods that Next.js supports", () => {
    const handlers = webhooks(observedReceiver().receiver);
    expect(Object.keys(handlers).toSorted()).toEqual(methods.toSorted());
    expectTypeOf<keyof RouteHandlers>().toEqualTypeOf<(typeof methods)[number]>();
  });

  test.each(methods)("%s checks the method of the request, not its own name", async (name) => {
    const { [name]: handler } = webhooks(observedReceiver().receiver);
    expect(await codeOf(await handler(await post()))).toBe("processed");
    for (const method of methods.filter((one) => one !== "POST")) {
      const response = await handler(new Request(url, { method }));
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
      expect(await codeOf(response)).toBe(method === "HEAD" ? undefined : "method_not_allowed");
    }
  });

  const unreadable = {
    get params(): never {
      throw new Error("accessed");
    },
  };

  test.each<[string, readonly unknown[]]>([
    ["nothing", []],
    ["undefined", [undefined]],
    ["null", [null]],
    ["the params of Next.js 15 and 16", [{ params: Promise.resolve({ tenant: "1" }) }]],
    ["params that throw", [unreadable]],
    ["the params of Next.js 14", [{ params: { tenant: "1" } }]],
  ])("ignore the second argument: %s", async (_what, context) => {
    const { POST } = webhooks(observedReceiver().receiver);
    expect(await codeOf(await POST(await post(), ...context))).toBe("processed");
  });

  test("need only the receiver's receive()", async () => {
    const { POST } = webhooks({ receive: observedReceiver().receiver.receive });
    expect(await codeOf(await POST(await post()))).toBe("processed");
  });

  test("have the types that Next.js expects of a route's handlers", () => {
    // This is the type in `.next/types/validator.ts`, which `next build` writes.
    type Expected<Params> = (
      request: NextRequest,
      context: { params: Promise<Params> },
    ) => Promise<Response | void> | Response | void;
    expectTypeOf<RouteHandler>().toExtend<Expected<{}>>();
    expectTypeOf<RouteHandler>().toExtend<Expected<{ tenant: string; rest: string[] }>>();
    expectTypeOf<RouteHandlers>().toExtend<
      Readonly<Record<(typeof methods)[number], Expected<{}>>>
    >();
    const receiver = createReceiver({ secret, on: { "*": () => {} } });
    const module: { POST?: Expected<{}> } = webhooks(receiver);
    expect(module.POST).toBeTypeOf("function");
  });
});

describe("after()", () => {
  /** Returns a receiver whose handler outlives its response, until `finished` is opened. */
  function slow() {
    const finished = gate();
    const observed = observedReceiver({ handlerTimeoutMs: 1, on: { "*": () => finished.opened } });
    return { ...observed, ...webhooks(observed.receiver), finished };
  }

  test("is unavailable outside Next.js: nothing is thrown or printed, and the run settles", async () => {
    const printed = (["error", "warn", "log", "info"] as const).map((method) =>
      vi.spyOn(console, method),
    );
    vi.mocked(after).mockClear();
    onTestFinished(() => printed.forEach((spy) => spy.mockRestore()));
    const { POST, finished, reported, internalErrors } = slow();
    expect(await codeOf(await POST(await post()))).toBe("handler_timeout");
    const settled = reported("processed");
    finished.open();
    expect(await settled).toMatchObject({ phase: "settled" });
    expect(await codeOf(await POST(await post()))).toBe("duplicate");
    expect(internalErrors).toEqual([]);
    expect(vi.mocked(after).mock.results).toMatchObject([{ type: "throw" }]);
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
  });

  test("receives the whole run, and nothing for deliveries that run no handler", async () => {
    const works: unknown[] = [];
    const mocked = vi.mocked(after).mockImplementation((work) => void works.push(work));
    onTestFinished(() => void mocked.mockReset());
    const { POST, finished } = slow();
    await POST(new Request(url, initOf(unsigned())));
    await POST(await post("{"));
    expect(works).toEqual([]);
    expect(await codeOf(await POST(await post()))).toBe("handler_timeout");
    expect(works).toHaveLength(1);
    expect(await codeOf(await POST(await post()))).toBe("in_flight");
    finished.open();
    await Promise.all(works);
    expect(await codeOf(await POST(await post()))).toBe("duplicate");
  });
});
