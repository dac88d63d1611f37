import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { root } from "@svc-webhooks/kit/programs";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { testLinux, testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { cli, newFile, start } from "./support.js";

const readmeApp = join(root, "examples/quick-start/app.mjs");

/** Returns an Express app with a receiver, as a program. */
const appWith = (secret: string, before = "") => [
  process.execPath,
  "--input-type=module",
  "-e",
  `
  import { createRequire } from "node:module";
  const require = createRequire(${JSON.stringify(readmeApp)});
  const express = require("express");
  const { createReceiver } = require("@svc-webhooks/core");
  const { webhooks } = require("@svc-webhooks/express");
  const receiver = createReceiver({ secret: ${secret}, on: { "*": () => {} } });
  const app = express();
  ${before}
  app.post("/webhooks", webhooks(receiver));
  app.listen(process.env.PORT);`,
];

const nodeApp = (code: string) => [process.execPath, "-e", code];

const serving = `const http = require("node:http");
  const server = http.createServer((request, response) => request.resume().on("end", () => response.end()));`;

/** Runs an app with a sandbox of this test, on a free port. */
async function develop(app: readonly string[], options: readonly string[] = [], env = {}) {
  const { url: service } = await openSandbox({ clock: "real" });
  const port = await freePort();
  const to = `http://localhost:${port}/webhooks`;
  const words = ["dev", "--to", to, ...options, "--", ...app];
  const started = start(words, { SVC_BASE_URL: service, PORT: undefined, ...env });
  const endpoints = async () => {
    const response = await fetch(`${service}/_sandbox/endpoints`);
    const { data } = (await response.json()) as {
      readonly data: readonly { readonly status: string; readonly url: string }[];
    };
    return data.map(({ status, url }) => [status, url]);
  };
  return { ...started, service, to, port, endpoints };
}

testPosix(
  "the README's app handles a test email, and Ctrl-C ends it and archives the endpoint",
  async () => {
    const { shows, interrupt, output, to, endpoints } = await develop([
      process.execPath,
      readmeApp,
    ]);
    await shows(/200 processed {2}email\.delivered {2}dlv_\w+ {2}attempt 1 {2}\d+ ms\n/);
    expect(await endpoints()).toEqual([["active", to]]);
    expect(output.stdout).toMatch(/\nsecret {4}SVC_WEBHOOK_SECRET, fingerprint [\da-f]{8}\n/);
    expect(output.stdout).toMatch(/200 ignored {2}email\.sent .+\n {2}No handler is registered/);
    expect(output.stdout).toContain("delivered: msg_");
    expect(output.stdout + output.stderr).not.toMatch(/whsec_\w/);
    expect(await interrupt()).toBe(130);
    expect(output.stderr).toMatch(/\bwe_\w+ was archived\.\n$/);
    expect(await endpoints()).toEqual([["archived", to]]);
    await expect(fetch(to)).rejects.toThrow("fetch failed");
  },
);

testPosix(
  "the app's lines about a delivery, and the stacks below them, are next to its attempt",
  async () => {
    const failing = appWith("process.env.SVC_WEBHOOK_SECRET").map((part) =>
      part.replace(
        '"*": () => {}',
        '"*": () => { throw new Error("no room in " + process.env.SVC_WEBHOOK_SECRET) }',
      ),
    );
    const { shows, service, interrupt, output } = await develop(failing);
    await shows(/500 handler_failed .+dlv_\w+/);
    const [, id = ""] = /500 handler_failed .+(dlv_\w+)/.exec(output.stdout) ?? [];
    let lines: readonly string[] = [];
    await until(async () => {
      const response = await fetch(`${service}/_sandbox/deliveries/${id}/attempts/1`);
      ({ log: lines = [] } = (await response.json()) as { readonly log?: readonly string[] });
      return lines.length > 0;
    }, "the attempt has lines");
    expect(lines[0]).toMatch(
      new RegExp(
        String.raw`^svc-webhooks default: handler_failed: {"deliveryId":"${id}","type":"email\.`,
      ),
    );
    expect(lines[0]).toMatch(/Error: no room in (?:whsec_)?…$/);
    expect(lines[1]).toMatch(/^ +at /);
    const page = await (
      await fetch(`${service}/?item=${id}`, { headers: { accept: "text/html" } })
    ).text();
    expect(page).toMatch(/Your receiver(?:&#39;|')s log/);
    expect(await interrupt()).toBe(130);
  },
);

interface Call {
  readonly method: string;
}

testPosix(
  "its polling is not in the sandbox's timeline, and each of many deliveries is printed",
  async () => {
    const { shows, service, interrupt, output } = await develop([process.execPath, readmeApp]);
    await shows(/200 processed {2}email\.delivered/);
    await Promise.all(
      Array.from({ length: 60 }, () =>
        fetch(`${service}/_sandbox/test-email`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        }),
      ),
    );
    await until(
      () => output.stdout.split("200 processed  email.delivered").length === 62,
      "all of them are printed",
    );
    const ids = Array.from(output.stdout.matchAll(/dlv_\w+ {2}attempt \d+/g), String);
    expect(new Set(ids).size).toBe(ids.length);
    const timeline = await fetch(`${service}/_sandbox/timeline?limit=50`);
    const { data } = (await timeline.json()) as { readonly data: readonly Call[] };
    expect(data.filter(({ method }) => method === "GET")).toEqual([]);
    expect(await interrupt()).toBe(130);
  },
);

testPosix(
  "without a sandbox it starts one, and the app gets a test key in place of the real one",
  async () => {
    const port = await freePort();
    const to = `http://127.0.0.1:${port}/`;
    const words = ["dev", "--json", "--sandbox-port=0", "--to", to, "--"];
    const app = nodeApp(`${serving} server.listen(process.env.PORT, "127.0.0.1");
    console.log("key:", process.env.SVC_API_KEY)`);
    const env = { SVC_API_KEY: "svc_live_key", PORT: undefined };
    const { shows, interrupt, output } = start([...words, ...app], env);
    await shows(/"result":"200"/);
    expect(await interrupt()).toBe(130);
    expect(output.stderr).toContain("key: svc_test\n");
    const [first, second] = output.stdout.split("\n");
    expect(JSON.parse(first ?? "")).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      webhook_endpoint_id: expect.stringMatching(/^we_/),
      to,
      secret_fingerprint: expect.stringMatching(/^[\da-f]{8}$/),
    });
    expect(JSON.parse(second ?? "")).toMatchObject({
      type: "email.sent",
      attempt: 1,
      result: "200",
    });
  },
);

testPosix.each(["real", "manual"] as const)(
  "a sandbox on a %s clock is used if its time passes",
  async (mode) => {
    const running = await openSandbox({ clock: mode });
    const { port } = new URL(running.url);
    const to = `http://127.0.0.1:${await freePort()}/`;
    const app = nodeApp(`${serving} server.listen(process.env.PORT, "127.0.0.1")`);
    const words = ["dev", "--json", "--sandbox-port", port, "--to", to, "--", ...app];
    const { shows, interrupt, output } = start(words, { PORT: undefined });
    await shows(/"result":"200"/);
    const [first = ""] = output.stdout.split("\n");
    // On the manual clock nothing would be delivered.
    expect((JSON.parse(first) as { readonly url: string }).url === running.url).toBe(
      mode === "real",
    );
    expect(await interrupt()).toBe(130);
  },
);

testPosix.each([
  [
    "another secret",
    appWith('"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"'),
    /401 signature_mismatch .+\n {2}Read the secret from SVC_WEBHOOK_SECRET.+\n {2}The receiver probably uses a different secret.+\n {2}If the receiver's log shows the fingerprint/,
  ],
  [
    "a parser before the receiver",
    appWith("process.env.SVC_WEBHOOK_SECRET", "app.use(express.json());"),
    /500 body_unavailable .+\n {2}\S.+\n/,
  ],
  [
    "no route at the path",
    nodeApp(`${serving.replace("response.end()", "response.writeHead(404).end()")}
      server.listen(process.env.PORT)`),
    /404 .+\n {2}Your app probably has no route for POST requests at this path\./,
  ],
  [
    "a framework that fails",
    nodeApp(`${serving.replace("response.end()", "response.writeHead(500).end()")}
      server.listen(process.env.PORT)`),
    /500 .+\n {2}This response is not from an svc-webhooks receiver\. Your framework/,
  ],
])("the cause is printed under the attempt of an app with %s", async (_what, app, text) => {
  const { shows, interrupt } = await develop(app);
  await shows(text);
  expect(await interrupt()).toBe(130);
});

describe("an app that does not run ends the command with 1, and the endpoint is archived:", () => {
  testPosix.each([
    [
      "it crashes at its start",
      nodeApp("throw new Error('no database')"),
      /no database[^]+we_\w+ was archived\.\nsvc-webhooks dev: The app ended with exit code 1 before it was listening on port \d+\./,
    ],
    [
      "it crashes later",
      nodeApp(`${serving} server.listen(process.env.PORT);
        server.on("request", () => process.exit(3))`),
      /Your app ended with exit code 3\.\nwe_\w+ was archived\.\n$/,
    ],
    [
      "there is no such program",
      ["no-such-program"],
      /no-such-program could not be started: .*ENOENT/,
    ],
    [
      "it exits, and a process that it started holds its output",
      ["sh", "-c", "sleep 20 & exit 4"],
      /The app ended with exit code 4 before it was listening/,
    ],
    [
      "it never listens",
      nodeApp("setInterval(() => {}, 1000)"),
      /is not listening on port \d+ after 1 s\. Make it listen on process\.env\.PORT\.\n$/,
    ],
  ])("%s", async (what, app, text) => {
    const wait = what === "it never listens" ? "1" : "60";
    const { ended, endpoints } = await develop(app, ["--wait", wait]);
    const { code, stderr } = await ended;
    expect(stderr).toMatch(text);
    expect(code).toBe(1);
    expect(await endpoints()).toEqual([["archived", expect.any(String)]]);
  });

  testLinux("it listens elsewhere, in a child", async () => {
    const port = await freePort();
    const app = ["sh", "-c", `node -e '${serving} server.listen(${port})' & wait`];
    const { ended, to } = await develop(app, ["--wait", "8"]);
    const { code, stderr } = await ended;
    expect(stderr).toContain(
      `It listens on port ${port}. Make it listen on process.env.PORT, or pass --to http://localhost:${port}/webhooks.`,
    );
    expect(code).toBe(1);
    // The child has ended with it.
    await until(
      () =>
        fetch(to.replace(/:\d+/, `:${port}`)).then(
          () => false,
          () => true,
        ),
      "the port is free again",
    );
  });
});

test.each([
  [
    "the environment",
    [],
    { SVC_BASE_URL: "https://192.0.2.1/" },
    "SVC_BASE_URL is https://192.0.2.1/",
  ],
  ["the option", ["--base-url=https://192.0.2.1/"], {}, "--base-url is https://192.0.2.1/"],
  [
    "a name without an address",
    ["--base-url=https://x.invalid"],
    {},
    "--base-url is https://x.invalid",
  ],
])(
  "a service on another machine is refused before the app starts: %s",
  async (_what, options, env, text) => {
    const file = newFile();
    const app = nodeApp(`require("node:fs").writeFileSync(${JSON.stringify(file)}, "")`);
    const to = `--to=http://127.0.0.1:${await freePort()}/`;
    const { code, stdout, stderr } = await cli(["dev", to, ...options, "--", ...app], { env });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`${text}, which is not a loopback address.`);
    expect(existsSync(file)).toBe(false);
  },
);

test("the fix of a port in the environment names PORT", async () => {
  const app = nodeApp(`${serving} server.listen(process.env.PORT)`);
  const PORT = String(await freePort());
  const { ended, port } = await develop(app, ["--wait", "1"], { PORT });
  const { code, stderr } = await ended;
  expect(stderr).toContain(`is not listening on port ${port} after 1 s.`);
  expect(stderr).toContain(
    `PORT is ${PORT} in your environment. Unset it, or pass --to http://localhost:${PORT}/webhooks.`,
  );
  expect(code).toBe(1);
});

test("a target on another machine is refused without an option that dev does not have", async () => {
  const { code, stderr } = await cli(["dev", "--to=http://192.0.2.1/", "--", "node"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--to resolves to 192.0.2.1, which is not a loopback address.");
  expect(stderr).not.toContain("--allow-external");
});

test("a sandbox that does not run at the given URL is named, with the fix", async () => {
  const port = await freePort();
  const env = { SVC_BASE_URL: `http://127.0.0.1:${port}` };
  const to = `--to=http://127.0.0.1:${await freePort()}/`;
  const { code, stderr } = await cli(["dev", to, "--", "node"], { env });
  expect(code).toBe(1);
  expect(stderr).toContain(
    `SVC_BASE_URL is http://127.0.0.1:${port}, but nothing is listening there. Remove SVC_BASE_URL to let this command start a sandbox, or start one there with svc-webhooks sandbox --port ${port}.`,
  );
});

test("a password in the sandbox's URL is refused and not printed", async () => {
  const env = { SVC_BASE_URL: "http://user:hunter2@127.0.0.1:4010" };
  const to = `--to=http://127.0.0.1:${await freePort()}/`;
  const { code, stderr } = await cli(["dev", to, "--", "node"], { env });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("contains a user name or a password"),
  ]);
  expect(stderr).not.toContain("hunter2");
});

test("a port that another program uses is named", async () => {
  const port = await listen((_request, response) => response.end());
  const words = ["dev", `--to=http://127.0.0.1:${port}/`, "--", "node"];
  const { code, stdout, stderr } = await cli(words);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(
    `Another program is already listening on port ${port}. Stop it, or pass --to`,
  );
});
