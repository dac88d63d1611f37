import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, onTestFinished, test } from "vitest";
import { newFile, start } from "./support.js";

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
  ["rebind.example", "event-types list", "svc_key"],
  ["rebind.example", "event-types list", ""],
  ["api.localhost", "event-types list", "svc_key"],
  ["rebind.example", "trigger email.sent", "svc_key"],
  ["rebind.example", "endpoints archive we_1", "svc_key"],
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
