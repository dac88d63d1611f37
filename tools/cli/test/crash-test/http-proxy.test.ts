import { text } from "node:stream/consumers";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, onTestFinished, test } from "vitest";
import { Crossings } from "../../src/crash-test/crossings.js";
import { forwardTo, httpServer } from "../../src/crash-test/proxies/http.js";
import { respondAsStub } from "../../src/crash-test/stub-server.js";

test("a request is forwarded with its end-to-end headers, and so is the response", async () => {
  const port = await listen(async (request, response) => {
    const { method, url, headers } = request;
    response.writeHead(201, { "X-Reply": "yes" });
    response.end(
      `${method} ${url} ${String(headers["x-own"])} ${String(headers.te)} ${await text(request)}`,
    );
  });
  const respond = forwardTo(new URL(`http://127.0.0.1:${port}/`));
  const { status, headers, body } = await respond({
    method: "POST",
    path: "/entries?a=1",
    headers: ["X-Own", "1", "TE", "trailers", "Content-Length", "1"],
    body: Buffer.from("x"),
  });
  expect(status).toBe(201);
  expect(headers.join(" ")).toContain("X-Reply yes");
  expect(body.toString()).toBe("POST /entries?a=1 1 undefined x");
});

test("a path that begins with two slashes stays on the host", async () => {
  const port = await listen((request, response) => void response.end(request.url));
  const respond = forwardTo(new URL(`http://127.0.0.1:${port}/`));
  const sent = {
    method: "GET",
    path: "//api.example.invalid/a",
    headers: [],
    body: Buffer.from(""),
  };
  expect((await respond(sent)).body.toString()).toBe("//api.example.invalid/a");
});

/** Starts the server of a service in front of `respond`, with a fault at a point. */
async function serviceWith(
  fault: ConstructorParameters<typeof Crossings>[0][number],
  respond = respondAsStub,
) {
  const actions = { kill: () => Promise.resolve(), freeze: () => Promise.resolve() };
  const crossings = new Crossings([fault], [], actions);
  crossings.begin();
  crossings.recorder.attempt({ event: 0, n: 1, isCopy: false, process: "A" });
  const server = await httpServer({ process: "A", name: "API_URL", path: "", crossings, respond });
  onTestFinished(() => server.close());
  const send = async (method: string, init: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${server.port}/mail`, { method, ...init });
    return [response.status, await response.text()] as const;
  };
  return { crossings, send };
}

const refused = [503, '{"error":"The crash test refused this request."}'] as const;

test("a refused request is neither executed nor counted, and the next one is", async () => {
  const { crossings, send } = await serviceWith({ kind: "status", point: 1 });
  expect(await send("POST", { body: "x" })).toEqual(refused);
  expect(await send("POST", { body: "x" })).toEqual([200, "{}"]);
  expect(crossings.recorder.calls.map(({ crossing }) => crossing)).toEqual([2]);
  const [first, second] = crossings.recorder.crossings;
  expect(first).toMatchObject({ hasStatusFault: true, isRejected: false });
  expect(first?.executedMs).toBeUndefined();
  expect(first?.settledMs).toBeDefined();
  expect(second?.hasStatusFault).toBeUndefined();
  expect([crossings.recorder.notReached, crossings.pending()]).toEqual([undefined, []]);
});

test("a refused request is not forwarded to a service on this machine", async () => {
  const received: string[] = [];
  const port = await listen((request, response) => {
    received.push(`${request.method} ${request.url}`);
    response.end("read");
  });
  const forward = forwardTo(new URL(`http://127.0.0.1:${port}/`));
  const { send } = await serviceWith({ kind: "status", point: 1 }, forward);
  expect(await send("GET")).toEqual(refused);
  expect(received).toEqual([]);
  expect(await send("GET")).toEqual([200, "read"]);
  expect(received).toEqual(["GET /mail"]);
});

test("a refused HEAD has no body, and the connection can be used again", async () => {
  const { send } = await serviceWith({ kind: "status", point: 1 });
  expect(await send("HEAD")).toEqual([503, ""]);
  expect(await send("HEAD")).toEqual([200, ""]);
});

test("a request is not refused after it was executed", async () => {
  const { crossings, send } = await serviceWith({ kind: "status", point: 2 });
  expect(await send("POST")).toEqual([200, "{}"]);
  expect(crossings.recorder.notReached).toBe(2);
});
