import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, onTestFinished, test } from "vitest";
import { resolveTarget } from "../src/lib/target-rule.js";
import { cli, newFile, start } from "./support.js";

const checked = "127.0.0.1";
/** An address that stands for another machine. */
const other = "127.0.0.9";

/** Returns a module that resolves names to one address when they are checked, and to another one afterwards. */
const rebinding = (names: readonly string[]) => `
  import dns from "node:dns";
  import { syncBuiltinESMExports } from "node:module";
  const names = ${JSON.stringify(names)};
  const { lookup } = dns;
  dns.promises.lookup = async () => [{ address: "${checked}", family: 4 }];
  dns.lookup = (name, options, callback) => {
    if (!names.includes(name)) return lookup(name, options, callback);
    const found = typeof options === "function" ? options : callback;
    if (options.all) found(null, [{ address: "${other}", family: 4 }]);
    else found(null, "${other}", 4);
  };
  syncBuiltinESMExports();
`;

test.each([
  ["rebind.example", "service event-types list", "svc_key"],
  ["rebind.example", "service event-types list", ""],
  ["api.localhost", "service event-types list", "svc_key"],
  ["rebind.example", "service trigger email.sent", "svc_key"],
  ["rebind.example", "service endpoints archive we_1", "svc_key"],
])(
  "a service whose name %s leads elsewhere after it was checked gets no request: %s, key %j",
  async (host, words, SVC_API_KEY) => {
    const got: (readonly [address: string | undefined, key: string | undefined])[] = [];
    const note = createServer((request, response) => {
      got.push([request.socket.localAddress, request.headers.authorization]);
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"data":[],"send_id":"send_1"}');
    });
    const port = await listen((request, response) => note.emit("request", request, response));
    note.listen(port, other);
    await once(note, "listening");
    onTestFinished(() => void note.close());
    const preload = newFile("rebinding.mjs");
    writeFileSync(preload, rebinding([host]));
    const env = {
      SVC_BASE_URL: `http://${host}:${port}`,
      SVC_API_KEY,
      NODE_OPTIONS: `--import=${pathToFileURL(preload).href}`,
    };
    const { code, stderr } = await start(words.split(" "), env).ended;
    expect({ code, stderr, got }).toEqual({
      code: 0,
      stderr: "",
      got: [[checked, `Bearer ${SVC_API_KEY || "svc_test"}`]],
    });
  },
);

test.each(["4011", ":4011", "4011/webhooks", "4011?a=1", "http://4011/", "https://:4011/x"])(
  "a target that is only a port is refused with a whole URL: %s",
  async (text) => {
    await expect(resolveTarget("--to", text, true)).rejects.toMatchObject({
      code: "wrong_usage",
      message: "--to has a port, but no host.",
      hint: "Write it like http://localhost:4011/webhooks.",
    });
  },
);

test("a loopback address that is written as a number is a target", async () => {
  const { addresses } = await resolveTarget("--to", "2130706433:4011/webhooks", false);
  expect(addresses).toEqual([{ address: "127.0.0.1", family: 4 }]);
});

test("a command explains a target that is only a port", async () => {
  const { code, stderr } = await cli(["doctor", "4011/webhooks"]);
  expect([code, stderr]).toEqual([
    2,
    "svc-webhooks doctor: The URL has a port, but no host. Write it like http://localhost:4011/webhooks.\n",
  ]);
});
