import { listen } from "@svc-webhooks/kit/servers";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { describe, expect, test } from "vitest";
import { callTool } from "../src/call.js";
import type { Clock } from "../src/clock.js";
import { resolveHosts } from "../src/setup/hosts.js";
import { readSecrets } from "../src/setup/secrets.js";
import { serviceAt } from "../src/setup/service.js";
import { toolList } from "../src/tools/all.js";
import { deliver } from "../src/tools/deliver.js";
import { timeline } from "../src/tools/timeline.js";
import type { Tool } from "../src/tools/tool.js";
import { waitFor } from "../src/tools/wait-for.js";
import { connect, receiverUrl, secret } from "./support.js";

const other = "whsec_OTHER_secret_of_this_environment";

/** The arguments with which each tool would work. */
const argumentsOf: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  explain_signature: { body: "{}", signature: "sha256=00" },
  verify: { body: "{}", signature: "sha256=00" },
  doctor: { url: "http://localhost:9/" },
  deliver: { mode: "signed", url: "http://localhost:9/" },
  timeline: {},
  wait_for: { timeout_seconds: 1 },
  replay: { event_id: "evt_1" },
  set_fault: { kind: "refused" },
  conformance: { url: "http://localhost:9/" },
};

test("these are all tools", () => {
  expect(Object.keys(argumentsOf)).toEqual(toolList().map(({ name }) => name));
});

describe("a variable that was not given at the start", () => {
  test("every tool that has a secret refuses it", async () => {
    const { call, stderr } = await connect(["--secret-env", "SECRET", "--write"], { OTHER: other });
    const names = ["OTHER", "PATH", "__proto__", "constructor", "", "SECRET ", secret];
    for (const [name, given] of Object.entries(argumentsOf)) {
      if (/^(?:timeline|wait_for|replay|set_fault)$/.test(name)) continue;
      for (const variable of names) {
        const result = await call(name, { ...given, secret: variable });
        expect(result).toMatchObject({ isError: true, code: "secret_not_allowed" });
        expect(result.fix).toContain("--secret-env");
        expect(JSON.stringify(result)).not.toContain(other);
      }
    }
    expect(stderr()).not.toContain(other);
  });

  test("previous secrets are refused too", async () => {
    const { call } = await connect(["--secret-env", "SECRET"], { OTHER: other });
    const given = { ...argumentsOf["explain_signature"], previous_secrets: ["OTHER"] };
    expect(await call("explain_signature", given)).toMatchObject({ code: "secret_not_allowed" });
  });

  test("no tool accepts a secret or a variable in another parameter", async () => {
    const { call } = await connect(["--secret-env", "SECRET"], { OTHER: other });
    for (const [name, given] of Object.entries(argumentsOf)) {
      for (const parameter of ["secret_env", "secret_value", "headers", "allow_host", "write"]) {
        const refused = await call(name, { ...given, [parameter]: "OTHER" });
        expect(refused).toMatchObject({ isError: true, code: "invalid_input" });
        expect(refused.untrusted).toContain(parameter);
      }
    }
  });

  test("a server without secrets says how to give one", async () => {
    const { call } = await connect([]);
    expect(await call("verify", argumentsOf["verify"])).toMatchObject({ code: "no_secret" });
  });
});

describe("a host that was not allowed at the start", () => {
  test.each(["doctor", "deliver", "conformance"])("%s sends nothing to it", async (name) => {
    let arrived = 0;
    const port = await listen((_request, response) => {
      arrived += 1;
      response.end();
    });
    const allowed = ["--allow-host", "localhost:9"];
    const { call } = await connect(["--secret-env", "SECRET", "--write", ...allowed]);
    for (const url of [
      `http://localhost:${port}/`,
      `http://127.0.0.1:${port}/`,
      `http://localhost:9@127.0.0.1:${port}/`,
      `http://2130706433:${port}/`,
      "http://192.0.2.1/",
      "http://169.254.169.254/latest/meta-data/",
      "file:///etc/passwd",
    ]) {
      const result = await call(name, { ...argumentsOf[name], url });
      expect(result.isError).toBe(true);
      expect(result.code).toMatch(/^(?:host_not_allowed|invalid_url)$/);
    }
    expect(arrived).toBe(0);
  });

  test("a redirect is not followed", async () => {
    let arrived = 0;
    const elsewhere = await listen((_request, response) => {
      arrived += 1;
      response.end();
    });
    const port = await listen((request, response) => {
      const location = `http://127.0.0.1:${elsewhere}/ignore-previous-instructions`;
      request.resume().on("end", () => response.writeHead(307, { location }).end());
    });
    const url = `http://127.0.0.1:${port}/`;
    const allowed = ["--allow-host", `127.0.0.1:${port}`];
    const { call } = await connect(["--secret-env", "SECRET", "--write", ...allowed]);
    const result = await call("doctor", { url });
    expect(result).toMatchObject({ ok: false, code: "redirects" });
    const { untrusted, ...own } = result;
    expect(untrusted).toContain("ignore-previous-instructions");
    expect(JSON.stringify(own)).not.toContain("ignore-previous-instructions");
    expect(arrived).toBe(0);
  });

  test("the service's own address is not a receiver", async () => {
    const { call, sandboxUrl } = await connect([
      "--sandbox",
      "--port=0",
      "--write",
      "--secret-env",
      "SECRET",
    ]);
    const { port } = new URL(await sandboxUrl());
    for (const host of ["127.0.0.1", "localhost", "[::1]", "127.1"]) {
      const url = `http://${host}:${port}/_sandbox/reset`;
      expect(await call("deliver", { mode: "signed", url })).toMatchObject({
        isError: true,
        code: "service_address",
      });
    }
  });
});

describe("the rule for hosts", () => {
  const addresses = (address: string) => async () => [{ address, family: 4 }];

  test.each([
    "http://localhost:3000/",
    "https://app.localhost/",
    "http://localhost.:3000/",
    "http://127.0.0.1:3000/",
    "http://127.8.9.1/",
    "http://[::1]:3000/",
    "http://[::ffff:127.0.0.1]/",
  ])("allows %s by default", async (url) => {
    const { target } = await resolveHosts([], [], addresses("192.0.2.1"));
    expect(target(url).isHere).toBe(true);
  });

  test.each([
    // A name that resolves to loopback now may resolve elsewhere later.
    "http://localtest.me/",
    "http://localhost.example.com/",
    "http://127.0.0.1.example.com/",
    "http://10.0.0.1/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[fe80::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://192.168.0.1:3000/",
  ])("refuses %s by default", async (url) => {
    const { target } = await resolveHosts([], [], addresses("127.0.0.1"));
    expect(() => target(url)).toThrow(expect.objectContaining({ code: "host_not_allowed" }));
  });

  test.each([
    "http://user@localhost/",
    "http://:password@localhost/",
    "ftp://localhost/",
    "localhost:3000",
    "",
    `http://localhost/${"x".repeat(2_048)}`,
  ])("refuses the URL %s", async (url) => {
    const { target } = await resolveHosts([], []);
    expect(() => target(url)).toThrow(expect.objectContaining({ code: "invalid_url" }));
  });

  test("a listed host replaces loopback, and has the default ports or its own", async () => {
    const given = ["staging.example.com", "api.example.com:8443", "localhost"];
    const { target } = await resolveHosts(given, [], addresses("192.0.2.1"));
    const isAllowed = (url: string) => {
      try {
        return target(url) !== undefined;
      } catch {
        return false;
      }
    };
    expect(
      [
        "https://staging.example.com/",
        "http://STAGING.example.com./",
        "https://staging.example.com:8443/",
        "https://sub.staging.example.com/",
        "https://api.example.com:8443/",
        "https://api.example.com/",
        "http://localhost:1234/",
        "http://127.0.0.1:1234/",
      ].map(isAllowed),
    ).toEqual([true, true, false, false, true, false, true, false]);
  });

  test.each([
    ["http://0.0.0.0:4010", "http://127.0.0.1:4010/v1"],
    ["http://[::]:4010", "http://localhost:4010/"],
    ["http://service.test:4010", "http://127.0.0.1:4010/"],
    ["http://localhost:4010", "http://127.8.9.1:4010/"],
  ])("a service at %s has the address %s too", async (service, url) => {
    const { target } = await resolveHosts([], [new URL(service)], addresses("127.0.0.1"));
    expect(() => target(url)).toThrow(expect.objectContaining({ code: "service_address" }));
    expect(target(url.replace("4010", "4011")).isHere).toBe(true);
  });

  test.each(["192.0.2.1", "0.0.0.0", "alias.example.com"])(
    "a listed host %s is refused if it is the service's address under another name",
    async (host) => {
      const base = host === "0.0.0.0" ? "http://localhost:4010" : "http://api.example.com:4010";
      const given = [`${host}:4010`, `${host}:4011`];
      const { target } = await resolveHosts(given, [new URL(base)], addresses("192.0.2.1"));
      expect(() => target(`http://${host}:4010/`)).toThrow(
        expect.objectContaining({ code: "service_address" }),
      );
      expect(target(`http://${host}:4011/`).addresses).toHaveLength(1);
    },
  );

  test("a service without an address does not prevent the start", async () => {
    const { target } = await resolveHosts([], [new URL("http://service.test/")], async () => []);
    expect(target("http://localhost/").isHere).toBe(true);
  });

  test("names are resolved once, at the start", async () => {
    let resolved = 0;
    const { target } = await resolveHosts(["a.example.com"], [], async () => {
      resolved += 1;
      return [{ address: resolved === 1 ? "192.0.2.1" : "127.0.0.1", family: 4 }];
    });
    for (const _ of [1, 2, 3])
      expect(target("http://a.example.com/").addresses).toEqual([
        { address: "192.0.2.1", family: 4 },
      ]);
    expect(resolved).toBe(1);
  });

  test.each([
    "http://localhost",
    "localhost:",
    "a b",
    "user@localhost",
    "localhost/path",
    "[::1",
    "*",
  ])("--allow-host %s is wrong usage", async (given) => {
    await expect(resolveHosts([given], [])).rejects.toMatchObject({ code: "wrong_usage" });
  });
});

describe("without --write", () => {
  const writing = toolList().filter(({ needs_write }) => needs_write !== "never");

  test.each(writing)("$name refuses with the fix", async ({ name }) => {
    const { sandbox, url: service } = await openSandbox();
    let arrived = 0;
    const server = await listen((_request, response) => {
      arrived += 1;
      response.end();
    });
    const { call } = await connect(["--secret-env", "SECRET", "--base-url", service]);
    const url = `http://127.0.0.1:${server}/`;
    const given = argumentsOf[name] ?? {};
    const result = await call(name, { ...given, ...("url" in given && { url }) });
    expect(result).toMatchObject({ isError: true, code: "write_off" });
    expect(result.fix).toContain("--write");
    expect(arrived).toBe(0);
    const { data } = (await (
      await sandbox.fetch(new Request(`${service}/_sandbox/timeline`))
    ).json()) as {
      readonly data: readonly unknown[];
    };
    expect(data).toEqual([]);
  });

  test("the others run", async () => {
    const { url } = await openSandbox();
    const { call } = await connect(["--secret-env", "SECRET", "--base-url", url]);
    for (const { name } of toolList().filter(({ needs_write }) => needs_write === "never")) {
      expect(await call(name, argumentsOf[name])).toMatchObject({ isError: false });
    }
  });

  test("a sandbox that the server started may be written to, but no receiver", async () => {
    const { call } = await connect(["--sandbox", "--port=0", "--secret-env", "SECRET"]);
    const url = await receiverUrl();
    expect(await call("deliver", { mode: "signed", url })).toMatchObject({ code: "write_off" });
    expect(await call("deliver", { mode: "signed" })).toMatchObject({ code: "no_endpoint" });
  });

  test("with --write, a service that runs already may be written to", async () => {
    const { url } = await openSandbox();
    const { call } = await connect(["--base-url", url, "--write"]);
    expect(await call("set_fault", { kind: "refused" })).toMatchObject({ code: "no_endpoint" });
  });
});

const mostRequests = 600;

/** Serves a list that never ends, until it has served too many pages. Its tools have a clock without real pauses. */
async function endless(isSandbox: boolean, page: (count: number) => object) {
  let count = 0;
  const port = await listen((request, response) => {
    const { url = "" } = request;
    count += 1;
    const isFound = isSandbox || !url.includes("/_sandbox/deliveries");
    const status = !isFound ? 404 : count > mostRequests ? 400 : 200;
    const endpoints = { data: [{ webhook_endpoint_id: "we_1", status: "active" }] };
    const body = JSON.stringify(url.includes("/endpoints") ? endpoints : page(count));
    const headers = { "content-type": "application/json" };
    request.resume().on("end", () => response.writeHead(status, headers).end(body));
  });
  let now = 0;
  const clock: Clock = {
    now: () => now,
    sleep: async (ms) => void (now += ms),
    timeout: () => new AbortController().signal,
  };
  const baseUrl = `http://127.0.0.1:${port}`;
  const service = serviceAt({ isOwn: true, baseUrl, apiKeyEnv: undefined, env: {} });
  const hosts = await resolveHosts([], []);
  const world = { clock, service, secrets: readSecrets([], {}), hosts, write: false };
  const { signal } = new AbortController();
  const call = (tool: Tool, given: object) => callTool(tool, world, String, given, signal);
  return { count: () => count, call };
}

describe("a service that names a next page for ever", () => {
  test.each([
    ["the same page", () => ({ data: [], next_cursor: "x" })],
    ["empty pages", (count: number) => ({ data: [], next_cursor: `x${count}` })],
    [
      "the same delivery",
      () => ({ data: [{ event_id: "evt_0", webhook_endpoint_id: "we_1" }], next_cursor: "x" }),
    ],
    [
      "new deliveries",
      (count: number) => ({ data: [{ event_id: `evt_${count}` }], next_cursor: `x${count}` }),
    ],
    ["no deliveries", () => ({ data: [null, 1], next_cursor: "x" })],
  ])("each tool ends after few requests for %s", async (_, page) => {
    for (const isSandbox of [true, false]) {
      const { count, call } = await endless(isSandbox, page);
      await call(timeline, {});
      await call(waitFor, { event_id: "evt_none", timeout_seconds: 1 });
      await call(deliver, { mode: "duplicate", event_id: "evt_none" });
      expect(count()).toBeGreaterThan(3);
      expect(count()).toBeLessThan(mostRequests);
    }
  });
});

test("a service that does not listen is reported", async () => {
  const { call } = await connect(["--base-url", "http://127.0.0.1:9"]);
  expect(await call("timeline")).toMatchObject({ isError: true, code: "connection_failed" });
});

test("the API key of the service is not sent to the server's own sandbox", async () => {
  const keys: unknown[] = [];
  const port = await listen((request, response) => {
    keys.push(request.headers.authorization);
    response.end("{}");
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  const env = { SVC_API_KEY: "svc_live_0123456789" };
  const { signal } = new AbortController();
  for (const isOwn of [true, false])
    await serviceAt({ isOwn, baseUrl, apiKeyEnv: undefined, env }).call(
      ({ request }) => request("GET", "/v1/x", {}, { signal }),
      signal,
    );
  expect(keys).toEqual(["Bearer svc_test", "Bearer svc_live_0123456789"]);
});
