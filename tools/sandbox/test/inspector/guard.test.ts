import { describe, expect, test } from "vitest";
import { actionNames } from "../../src/control/actions.js";
import { lines, raw } from "../http/raw-request.js";
import { attr, formOf, fieldsOf, openPage, the, type Reply } from "./support.js";

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types inspector";

const assetsOf = ({ dom }: Reply) => [
  attr(the(dom, "script"), "src") ?? "",
  attr(the(dom, "link[rel=stylesheet]"), "href") ?? "",
];

const parts = ["header", "health", "timeline", "detail", "setup"];

const portOf = (url: string) => Number(new URL(url).port);

describe("the page for another host", () => {
  test("is refused, and so are its parts, assets, stream and forms", async () => {
    const opened = await openPage();
    const port = portOf(opened.url);
    const paths = [
      "/",
      "/?item=dlv_x",
      ...parts.map((part) => `/?part=${part}`),
      ...assetsOf(await opened.get()),
      "/_sandbox/stream",
    ];
    const hosts = ["evil.test", "127.0.0.1.example.com", "localhost.example.com", "127.0.0.2"];
    const own = { host: `127.0.0.1:${port}`, accept: "text/html" };
    for (const path of paths) {
      expect([path, (await raw(opened.url, "GET", path, own)).status]).toEqual([path, 200]);
      for (const host of hosts.flatMap((name) => [name, `${name}:${port}`])) {
        const { status, body } = await raw(opened.url, "GET", path, { host, accept: "text/html" });
        expect([path, host, status]).toEqual([path, host, 403]);
        expect(body).not.toContain("<");
      }
      expect(await lines(port, `GET ${path} HTTP/1.1`)).toContain("403");
      expect(await lines(port, `GET ${path} HTTP/1.0`)).toContain("403");
    }
    const type = { "content-type": "application/x-www-form-urlencoded" };
    for (const host of hosts)
      expect((await raw(opened.url, "POST", "/", { host, ...type })).status).toBe(403);
  });
});

describe("a form from another place", () => {
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { origin: "http://evil.test" },
    { origin: "null" },
    { origin: "http://localhost:1" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none" },
    { origin: "null", "sec-fetch-site": "same-origin" },
    { "x-svc-delivery-id": "dlv_1" },
  ];

  test.each(foreign)("is refused with %o, whatever its action", async (headers) => {
    const opened = await openPage();
    await opened.endpoint("http://localhost:3000/");
    const page = await opened.get();
    const before = (await opened.control("GET overview")).body;
    for (const name of actionNames) {
      const body = new URLSearchParams({ do: name, id: "A-14", value: "422", advance_ms: "1000" });
      const type = "application/x-www-form-urlencoded";
      const init = { method: "POST", headers: { "content-type": type, ...headers }, body };
      const reply = await opened.load("/", init);
      expect([name, reply.status]).toEqual([name, 403]);
      expect(reply.html).not.toContain("<html");
    }
    const form = formOf(page, "create-endpoint");
    const body = new URLSearchParams(Object.fromEntries(fieldsOf(form)));
    expect((await opened.load("/", { method: "POST", headers, body })).status).toBe(403);
    expect((await opened.control("GET overview")).body).toEqual(before);
    expect((await opened.control("GET endpoints")).body.data).toHaveLength(1);
  });

  test("is accepted from the own origin, by each name of the host", async () => {
    const opened = await openPage();
    const port = portOf(opened.url);
    for (const name of ["127.0.0.1", "localhost"]) {
      const host = `${name}:${port}`;
      const own = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
      const type = "application/x-www-form-urlencoded";
      const { status } = await raw(opened.url, "POST", "/?do=reset", {
        ...own,
        "content-type": type,
      });
      // The guard accepts the request. The status is 400 because the form has no fields.
      expect(status).toBe(400);
    }
  });
});

describe("the headers of the page", () => {
  const isolation = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
  };
  const expected = {
    ...isolation,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cache-control": "no-store",
    vary: "Accept",
  };

  test("let nothing run in it, load into it or frame it or its parts", async () => {
    const opened = await openPage();
    const page = await opened.get();
    const created = await opened.submit(page, formOf(page, "create-endpoint"));
    const refused = await opened.submit(page, formOf(page, "clock", { place: "mode" }), {
      mode: "other",
    });
    expect(refused.status).toBe(400);
    const others = ["/?item=dlv_x", ...parts.map((part) => `/?part=${part}`)];
    const loaded = await Promise.all(others.map((address) => opened.get(address)));
    for (const { headers, url } of [page, created, refused, ...loaded]) {
      const found = Object.fromEntries(headers);
      expect([url, found]).toEqual([url, expect.objectContaining(expected)]);
      const names = Object.keys(found).filter((name) => name.startsWith("access-control-"));
      expect(names).toEqual([]);
    }
  });

  test("isolate redirects, assets and errors too", async () => {
    const opened = await openPage();
    const page = await opened.get();
    const redirect = await opened.submit(page, formOf(page, "reset"));
    expect(redirect.status).toBe(303);
    const addresses = [...assetsOf(page), "/assets/x.js"];
    const replies = await Promise.all(addresses.map((address) => opened.get(address)));
    for (const { headers, url } of [redirect, ...replies]) {
      const found = Object.fromEntries(headers);
      expect([url, found]).toEqual([url, expect.objectContaining(isolation)]);
    }
    const types = replies.slice(0, 2).map(({ headers }) => headers.get("content-type"));
    expect(types).toEqual(["text/javascript; charset=utf-8", "text/css; charset=utf-8"]);
  });

  test("let another site lead to the page, and read nothing of it", async () => {
    const { url, get } = await openPage();
    const link = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const frame = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" };
    const own = { host: new URL(url).host, accept: "text/html" };
    const paths = ["/", "/?part=timeline&q=x", "/_sandbox/overview", ...assetsOf(await get())];
    for (const path of paths) {
      for (const site of ["cross-site", "same-site"]) {
        const status = async (how: Readonly<Record<string, string>>) =>
          (await raw(url, "GET", path, { ...own, "sec-fetch-site": site, ...how })).status;
        const found = [await status(link), await status(frame), await status({})];
        expect([path, site, ...found]).toEqual([path, site, 200, 403, 403]);
      }
    }
  });

  test("are those of text for a client that does not accept HTML", async () => {
    const { load } = await openPage();
    const { headers } = await load("/?part=detail", { headers: { accept: "*/*" } });
    expect(headers.get("content-type")).toMatch(/^text\/plain/);
  });
});
