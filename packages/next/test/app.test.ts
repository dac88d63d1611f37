import { createReceiver } from "@svc-webhooks/core";
import { webhooks, type RouteHandler, type RouteHandlers } from "@svc-webhooks/next";
import { after, NextRequest } from "next/server.js";
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from "vitest";
import {
  eventBody,
  secret,
  signed,
  unsigned,
  type TestDelivery,
} from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { observedReceiver } from "@svc-webhooks/kit/receivers";
import { codeOf, initOf } from "@svc-webhooks/kit/web";

vi.mock("next/server.js", async (importOriginal) => {
  const server = await importOriginal<{ readonly after: typeof after }>();
  return { ...server, after: vi.fn<typeof after>(server.after) };
});

const fix =
  "let nothing read the request before webhooks(); " +
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config";

const url = "https://example.org/api/webhooks";
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

const requests = [
  { kind: "Request", make: (init: RequestInit) => new Request(url, init) },
  {
    kind: "NextRequest",
    make: (init: RequestInit) =>
      new NextRequest(url, init as ConstructorParameters<typeof NextRequest>[1]),
  },
] as const;

const post = async (...delivery: Parameters<typeof signed>) =>
  new Request(url, initOf(await signed(...delivery)));

const noop = () => {};

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe.each(requests)("a $kind", ({ make }) => {
  test("is processed, and the handler receives its exact bytes", async () => {
    const bodies: string[] = [];
    const { receiver } = observedReceiver({
      on: { "*": (_event, { delivery }) => bodies.push(hexOf(delivery.body)) },
    });
    const { POST } = webhooks(receiver);
    const delivery = await signed(`\uFEFF{"type":"email.sent","n":1.0,"to":"é😀"}\r\n`);
    const response = await POST(make(initOf(delivery)));
    expect(response).toBeInstanceOf(Response);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    expect(await codeOf(response)).toBe("processed");
    expect(bodies).toEqual([hexOf(delivery.body)]);
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
    const request = make(initOf(await signed()));
    await read(request);
    const response = await webhooks(receiver).POST(request);
    expect(response.status).toBe(500);
    expect(codes()).toEqual(["body_unavailable"]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^svc-webhooks default: body_unavailable: \S/);
    expect(lines[0]?.endsWith(`; ${fix}`)).toBe(true);
  });

  test("whose clone was read is processed", async () => {
    const { receiver } = observedReceiver();
    const request = make(initOf(await signed()));
    await request.clone().json();
    expect(await codeOf(await webhooks(receiver).POST(request))).toBe("processed");
  });

  test("whose body was cut is unavailable, and the setting is logged", async () => {
    const { receiver, lines } = observedReceiver();
    const { headers, body } = await signed(eventBody(), { "content-length": "22" });
    const response = await webhooks(receiver).POST(make(initOf({ headers, body } as TestDelivery)));
    expect(await codeOf(response)).toBe("body_unavailable");
    expect(lines).toEqual([
      expect.stringMatching(/cut to 21 of 22 bytes; .*experimental\.proxyClientMaxBodySize/),
    ]);
  });

  test("that is unsigned is rejected before its body is read", async () => {
    const { receiver } = observedReceiver();
    const request = make(initOf(unsigned()));
    const response = await webhooks(receiver).POST(request);
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
    const { receiver } = observedReceiver();
    const { [name]: handler } = webhooks(receiver);
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
    const { receiver } = observedReceiver();
    const { POST } = webhooks(receiver);
    expect(await codeOf(await POST(await post(), ...context))).toBe("processed");
  });

  test("need only the receiver's receive()", async () => {
    const { receiver } = observedReceiver();
    const { POST } = webhooks({ receive: receiver.receive });
    expect(await codeOf(await POST(await post()))).toBe("processed");
  });

  test("never reject, whatever the event's handler throws", async () => {
    const { receiver } = observedReceiver({ on: { "*": () => Promise.reject(new Error("no")) } });
    const response = await webhooks(receiver).POST(await post());
    expect(response.status).toBe(500);
    expect(await response.text()).toBe(
      '{"error":{"code":"handler_failed","message":"handler failed"}}',
    );
  });

  test("have the types that Next.js expects of a route's handlers", () => {
    // As in `.next/types/validator.ts`, which `next build` writes.
    type Expected<Params> = (
      request: NextRequest,
      context: { params: Promise<Params> },
    ) => Promise<Response | void> | Response | void;
    expectTypeOf<RouteHandler>().toExtend<Expected<{}>>();
    expectTypeOf<RouteHandler>().toExtend<Expected<{ tenant: string; rest: string[] }>>();
    expectTypeOf<RouteHandlers>().toExtend<
      Readonly<Record<(typeof methods)[number], Expected<{}>>>
    >();
    const module: { POST?: Expected<{}> } = webhooks(createReceiver({ secret, on: { "*": noop } }));
    expect(module.POST).toBeTypeOf("function");
  });
});

describe("after()", () => {
  test("is unavailable outside Next.js: nothing is thrown or printed, and the run settles", async () => {
    const printed = (["error", "warn", "log", "info"] as const).map((method) =>
      vi.spyOn(console, method),
    );
    vi.mocked(after).mockClear();
    onTestFinished(() => printed.forEach((spy) => spy.mockRestore()));
    const finished = gate();
    const { receiver, reported, internalErrors } = observedReceiver({
      handlerTimeoutMs: 1,
      on: { "*": () => finished.opened },
    });
    const { POST } = webhooks(receiver);
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
    const finished = gate();
    const { receiver } = observedReceiver({
      handlerTimeoutMs: 1,
      on: { "*": () => finished.opened },
    });
    const { POST } = webhooks(receiver);
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
