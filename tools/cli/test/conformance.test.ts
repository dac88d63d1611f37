import { createReceiver } from "@svc-webhooks/core";
import { freePort } from "@svc-webhooks/kit/free-port";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";
import { describe, expect, test, vi } from "vitest";
import { serveHandler } from "../src/conformance/handler-server.js";
import { cli, json, secret } from "./support.js";

const conformance = (...args: readonly string[]) => cli(["conformance", ...args]);

/** Serves a receiver of this project that recognizes copies by the event's own id. */
async function receiverUrl(
  handler: (event: unknown) => void | Promise<void> = () => {},
): Promise<string> {
  const receiver = createReceiver({
    secret,
    dedupeBy: "event",
    eventId: ({ event_id }) => (typeof event_id === "string" ? event_id : undefined),
    on: { "email.sent": handler },
    log: () => {},
    onHandlerError: () => {},
  });
  return `http://127.0.0.1:${await listen(webhooks(receiver))}/webhooks`;
}

test("prints each case with its level, and why some were not judged", async () => {
  const { code, stdout } = await conformance(await receiverUrl(), "--secret-env=SECRET");
  expect(stdout).toMatch(/: 35 passed, 0 failed, and 12 not judged\n/);
  expect(stdout).toContain("pass  must    handles a genuine delivery and responds with 2xx\n");
  expect(stdout).toContain("  - 12 cases: The responses alone do not show how often");
  expect(stdout).toContain("The receiver passes every case that is a must and was judged.");
  expect(stdout).not.toContain(secret);
  expect(code).toBe(0);
});

test("judges every case if the receiver's handler posts its events", async () => {
  const port = await freePort();
  const post = async (event: unknown) => {
    const body = JSON.stringify(event);
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    if (!response.ok) throw new Error(await response.text());
  };
  const { code, value } = await json([
    "conformance",
    await receiverUrl(post),
    "--secret-env=SECRET",
    `--handler-port=${port}`,
  ]);
  const results = value["results"] as readonly { readonly status: string }[];
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["passed"]));
  expect([code, value["conforms"]]).toEqual([0, true]);
});

test("stops at a refused genuine delivery, with one sentence for the cause", async () => {
  const port = await listen((_request, response) => response.writeHead(401).end("\u001b[2J"));
  const { code, stdout } = await conformance(`127.0.0.1:${port}`, "--secret-env=SECRET");
  expect(stdout).toContain("Stopped at the first case. A genuine delivery got a 401 response");
  expect(stdout).not.toContain("refuses GET");
  expect(code).toBe(1);
});

test("a receiver that is not running ends the run", async () => {
  const { code, stdout } = await conformance(
    `127.0.0.1:${await freePort()}`,
    "--secret-env=SECRET",
  );
  expect(stdout).toMatch(/Nothing is listening at .+\. Start the receiver, and check its URL\.\n/);
  expect(code).toBe(1);
});

describe("wrong usage exits with 2, before any request", () => {
  test.each<readonly [string, readonly string[], RegExp]>([
    ["no secret", [], /--secret-env is missing/],
    ["a variable that is not set", ["--secret-env=NOT_SET"], /NOT_SET is not set/],
    ["a secret as an option", ["--secret=whsec_x"], /--secret/],
    [
      "a port",
      ["--secret-env=SECRET", "--handler-port=x"],
      /--handler-port must be a whole number/,
    ],
    ["a timeout", ["--secret-env=SECRET", "--timeout=61"], /--timeout must be a whole number/],
    ["a scheme", ["--secret-env=SECRET", "--scheme=strip"], /Did you mean stripe\?/],
  ])("%s", async (_what, options, text) => {
    const { code, stdout, stderr } = await conformance("http://127.0.0.1:9/", ...options);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(text)]);
  });

  test("a target that is not a loopback address", async () => {
    const { code, stderr } = await conformance("http://192.0.2.1/", "--secret-env=SECRET");
    expect([code, stderr]).toEqual([2, expect.stringMatching(/not a loopback address/)]);
  });
});

test("a handler port that is in use is an error with the fix", async () => {
  const port = await listen(() => {});
  const { code, stderr } = await conformance(
    await receiverUrl(),
    "--secret-env=SECRET",
    `--handler-port=${port}`,
  );
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/Port \d+ cannot be used: .+ Choose another one with --handler-port\./),
  ]);
});

describe("the server for a receiver's handler", () => {
  const handled = async (
    init: RequestInit,
    handle: () => Promise<void> = () => Promise.resolve(),
  ) => {
    const { url, close } = await serveHandler(0, handle);
    try {
      const response = await fetch(url, init);
      return [response.status, await response.text()];
    } finally {
      close();
    }
  };

  test("responds with 204 if the run succeeds, and with the error's text if it fails", async () => {
    const init = { method: "POST", body: "{}" };
    expect(await handled(init)).toEqual([204, ""]);
    expect(await handled(init, () => Promise.reject(new Error("failed (1)")))).toEqual([
      500,
      "failed (1)",
    ]);
  });

  test.each([{ origin: "https://example.org" }, { "sec-fetch-site": "cross-site" }])(
    "refuses the requests of web pages: %j",
    async (headers) => {
      const handle = vi.fn<() => Promise<void>>(() => Promise.resolve());
      expect(await handled({ method: "POST", body: "{}", headers }, handle)).toEqual([403, ""]);
      expect(handle).not.toHaveBeenCalled();
    },
  );

  test("refuses other requests", async () => {
    expect(await handled({})).toEqual([405, ""]);
    const invalid = [400, "The body is not JSON, or is larger than 4 MiB. Post the event as JSON."];
    expect(await handled({ method: "POST", body: "{" })).toEqual(invalid);
    const huge = `"${"x".repeat(4_194_304)}"`;
    expect(await handled({ method: "POST", body: huge })).toEqual(invalid);
  });
});
