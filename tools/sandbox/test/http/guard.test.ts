import { describe, expect, test } from "vitest";
import { lines, raw } from "./raw-request.js";
import { open } from "../support.js";

const portOf = (url: string) => Number(new URL(url).port);

describe("the host check", () => {
  const paths = [
    ["GET", "/"],
    ["GET", "/openapi.json"],
    ["GET", "/v1/webhook-events"],
    ["POST", "/v1/emails"],
    ["GET", "/_sandbox/overview"],
    ["GET", "/_sandbox/stream"],
    ["POST", "/_sandbox/reset"],
    ["GET", "/nothing"],
  ] as const;

  test.each(paths)("refuses %s %s for another host", async (method, path) => {
    const { url } = await open();
    const response = await raw(url, method, path, { host: "evil.test" });
    expect(response.status).toBe(403);
    expect(JSON.parse(response.body)).toMatchObject({
      error: { code: "forbidden", param: "Host" },
    });
  });

  const hosts = (port: number): readonly (readonly [string, number])[] => [
    [`127.0.0.1:${port}`, 200],
    [`localhost:${port}`, 200],
    [`LOCALHOST:${port}`, 200],
    [`[::1]:${port}`, 200],
    ["127.0.0.1", 403],
    ["localhost", 403],
    [`127.0.0.1:${port + 1}`, 403],
    [`127.0.0.1.example.com:${port}`, 403],
    [`127.0.0.2:${port}`, 403],
    [`localhost.:${port}`, 403],
    [`evil.test:${port}`, 403],
    [`user@127.0.0.1:${port}`, 403],
  ];

  test("accepts the own names with the own port, and no other host", async () => {
    const { url } = await open();
    const table = hosts(portOf(url));
    const found = await Promise.all(
      table.map(async ([host]) => [host, (await raw(url, "GET", "/", { host })).status] as const),
    );
    // A value that is not a host at all is rejected when the URL is parsed.
    const expected = table.map(([host, status]) => [host, host.includes("@") ? 400 : status]);
    expect(found).toEqual(expected);
  });

  test("refuses a request without Host, and one with two", async () => {
    const { url } = await open();
    const port = portOf(url);
    const own = `Host: 127.0.0.1:${port}`;
    expect(await lines(port, "GET / HTTP/1.1", own)).toContain("200");
    expect(await lines(port, "GET / HTTP/1.1")).toContain("403");
    expect(await lines(port, "GET / HTTP/1.0")).toContain("403");
    expect(await lines(port, "GET / HTTP/1.1", own, "Host: evil.test")).toContain("403");
    expect(await lines(port, "GET / HTTP/1.1", "Host: evil.test", own)).toContain("403");
  });

  test("refuses a request line that names another host, which would pass as the own origin", async () => {
    const { url } = await open();
    const port = portOf(url);
    const own = [`Host: 127.0.0.1:${port}`, "Content-Length: 0"];
    const reset = (target: string) =>
      lines(port, `POST ${target}/_sandbox/reset HTTP/1.1`, ...own, "Origin: http://evil.test");
    expect(await reset("http://evil.test")).toContain("403");
    expect(await reset(`http://evil.test:${port}`)).toContain("403");
    expect(await lines(port, `GET http://evil.test/ HTTP/1.1`, ...own)).toContain("403");
    // RFC 9112, section 3.2.2: a server must accept the absolute form.
    expect(await lines(port, `GET ${url}/ HTTP/1.1`, ...own)).toContain("200");
  });

  test("serves the names of allowHosts with any port, because a proxy or a container has its own", async () => {
    const { url } = await open({ allowHosts: ["sandbox.internal"] });
    const statuses = [
      "sandbox.internal",
      `sandbox.internal:${portOf(url)}`,
      "SANDBOX.internal:49153",
      "x.sandbox.internal",
      "sandbox.internal.evil.test",
    ].map(async (host) => (await raw(url, "GET", "/", { host })).status);
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 403, 403]);
  });

  test("does not apply in process", async () => {
    const { sandbox } = await open();
    const response = await sandbox.fetch(new Request("http://sandbox.test/_sandbox/overview"));
    expect(response.status).toBe(200);
  });

  test("writes its error in the shape of A-11", async () => {
    const { url } = await open({ assumptions: { "A-11": "problem" } });
    const response = await raw(url, "GET", "/", { host: "evil.test" });
    expect(response.headers["content-type"]).toBe("application/problem+json");
    expect(JSON.parse(response.body)).toMatchObject({ status: 403, code: "forbidden" });
  });
});

describe("the check of actions", () => {
  const actions = ["reset", "test-email", "clock", "faults", "deliveries/dlv_1/send"];
  const foreign: readonly Record<string, string>[] = [
    { origin: "http://evil.test" },
    { origin: "null" },
    { origin: "http://localhost:1" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none" },
  ];

  test.each(foreign)("refuses every action with %o", async (headers) => {
    const { url, control } = await open();
    await control("POST test-email");
    const statuses = actions.map(
      async (action) => (await raw(url, "POST", `/_sandbox/${action}`, headers)).status,
    );
    expect(await Promise.all(statuses)).toEqual(actions.map(() => 403));
    expect((await control("GET overview")).body.counts.calls).toBe(1);
  });

  test("accepts the own origin, and a client that is not a browser", async () => {
    const { url } = await open();
    const own = { origin: url, "sec-fetch-site": "same-origin" };
    expect((await raw(url, "POST", "/_sandbox/reset", own)).status).toBe(200);
    expect((await raw(url, "POST", "/_sandbox/reset", {})).status).toBe(200);
  });

  test("refuses deliveries on every control route", async () => {
    const { url } = await open();
    const headers = { "x-svc-delivery-id": "dlv_1" };
    expect((await raw(url, "GET", "/_sandbox/overview", headers)).status).toBe(403);
    expect((await raw(url, "POST", "/_sandbox/reset", headers)).status).toBe(403);
  });
});

describe("the headers of responses", () => {
  test.each(["/", "/_sandbox/overview", "/_sandbox/nothing", "/_sandbox/stream"])(
    "isolate %s from other origins",
    async (path) => {
      const { url } = await open();
      const { headers } = await raw(url, "GET", path, { origin: "http://evil.test" });
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "same-origin",
        "x-content-type-options": "nosniff",
      });
      const names = Object.keys(headers).filter((name) => name.startsWith("access-control-"));
      expect(names).toEqual([]);
    },
  );

  test("let no other origin's preflight pass", async () => {
    const { url } = await open();
    const response = await raw(url, "OPTIONS", "/_sandbox/reset", {
      origin: url,
      "access-control-request-method": "POST",
    });
    expect(response.status).toBe(405);
    expect(response.headers["allow"]).toBe("POST");
  });
});
