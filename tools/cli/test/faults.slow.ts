import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { gate } from "@svc-webhooks/kit/gate";
import { listen } from "@svc-webhooks/kit/servers";
import { testLinux, testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseCaptured } from "../src/lib/capture.js";
import { deliver, listening } from "./listening.js";
import { cli, newFile, secret, shell, start } from "./support.js";

/** Starts a server that writes raw bytes, even invalid HTTP. */
async function rawServer(respond: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => respond(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Starts a service that responds to every request with this JSON. */
async function service(body: unknown): Promise<{ readonly SVC_BASE_URL: string }> {
  const port = await listen((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  return { SVC_BASE_URL: `http://127.0.0.1:${port}` };
}

const type = '{ "type": "email.sent" }';

describe("a target of listen that is not HTTP", () => {
  testPosix.each([
    ["a status below 100", "HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n"],
    ["the status 000", "HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
  ])("is unavailable if it responds with %s", async (_what, text) => {
    const to = await rawServer((socket) => socket.write(text));
    const { url, interrupt } = await listening(["--forward-to", to]);
    expect((await deliver(url, type)).status).toBe(502);
    expect((await deliver(url, type)).status).toBe(502);
    expect(await interrupt()).toBe(130);
  });

  test("is unavailable if its response has no end", async () => {
    const port = await listen((_request, response) => {
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
    });
    const { url } = await listening(["--forward-to", `http://127.0.0.1:${port}/`]);
    expect((await deliver(url, type)).status).toBe(502);
  });
});

testLinux("stdout that cannot be written is a failure", async () => {
  const line = `printf x | ${shell("sign", "--secret-env=SECRET")} > /dev/full`;
  const run = promisify(execFile)("sh", ["-c", line], { env: { ...process.env, SECRET: secret } });
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the output could not be written"),
  });
});

test("JSON does nothing to a terminal", async () => {
  const { url, output, shows } = await listening();
  await deliver(url, '{"type":"a\u202e"}', { deliveryId: "dlv_\u009b31m" });
  await shows(/genuine/);
  expect(output.stdout).toMatch(/^[\n -~]+$/);
  expect(output.stdout).toContain(String.raw`dlv_\u009b31m`);
});

describe("a response without what the interface does not show", () => {
  const endpoint = { webhook_endpoint_id: "we_1", status: "active" };
  test.each([
    ["service endpoints rotate-secret we_1", { secret: "whsec_new" }, "whsec_new"],
    [
      "service endpoints create --url x --event y",
      { webhook_endpoint: endpoint, secret: "whsec_new" },
      "whsec_new",
    ],
    ["service event-types list", ["email.sent"], "email.sent"],
    ["service event-types list", { data: [{ type: "email.sent" }] }, "email.sent"],
    ["service events list", [{ event_id: "evt_1" }], "evt_1"],
    ["service sends get send_1", { send_id: "send_1", status: "sent", recipients: {} }, "send_1"],
  ])("is shown by %s", async (words, body, shown) => {
    const { code, stdout, stderr } = await cli(words.split(" "), { env: await service(body) });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(shown);
  });

  test("is a failure of service emails send if it has no id", async () => {
    const words = "service emails send --from a --to b --subject c --text d";
    const { code, stdout } = await cli(words.split(" "), { env: await service({}) });
    expect([code, stdout]).toEqual([1, ""]);
  });
});

describe("a new secret that is not one is not printed", () => {
  const webhook_endpoint = { webhook_endpoint_id: "we_1", status: "active" };
  const rotate = "service endpoints rotate-secret we_1";
  const create = "service endpoints create --url x --event y";
  const register = "listen --port=0";
  const develop = "dev --to=http://127.0.0.1:9/ -- node";
  const messages = {
    [rotate]: /The secret of we_1 was rotated\. .+ redeliver-failed we_1/,
    [create]: /The endpoint we_1 was registered\. .+ rotate-secret we_1/,
    [register]: /we_1 was archived\. [^]+The endpoint we_1 was registered\. .+--secret-env/,
    [develop]:
      /The endpoint we_1 was registered\. Archive it with svc-webhooks service endpoints archive we_1, /,
  };

  test.each<[keyof typeof messages, string, unknown]>([
    [rotate, "a string of 21 characters", "https://mail.test/key"],
    [rotate, "a string of 6 characters", "whsec_"],
    [rotate, "a string of 14 characters", "whsec_ab cd ef"],
    [rotate, "a string of 12 characters", "whsec_schlü\n"],
    [rotate, "a string of 513 characters", `whsec_${"x".repeat(507)}`],
    [rotate, "a value of type number", 12_345_678],
    [rotate, "a value of type object", { key: "whsec_inner_value" }],
    [rotate, "a value of type array", ["whsec_inner_value"]],
    [create, "a string of 21 characters", "https://mail.test/key"],
    [register, "a string of 21 characters", "https://mail.test/key"],
    [develop, "a string of 21 characters", "https://mail.test/key"],
  ])("by %s: %s", async (words, what, sent) => {
    const requests: string[] = [];
    const port = await listen((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      const body =
        request.method === "GET"
          ? { data: [{ type: "email.sent" }] }
          : { webhook_endpoint, secret: sent };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const env = { SVC_BASE_URL: `http://127.0.0.1:${port}` };
    const { code, stdout, stderr } = await cli(words.split(" "), { env });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`: The service sent ${what} as \`secret\`, `);
    expect(stderr).toMatch(messages[words]);
    for (const part of ["mail.test", "ab cd", "schl", "xxx", "12345678", "inner"]) {
      expect(stderr).not.toContain(part);
    }
    expect(requests.includes("DELETE /v1/webhook-endpoints/we_1")).toBe(words === register);
  });
});

describe("Ctrl-C while listen registers its endpoint", () => {
  testPosix("archives what the service still registers", async () => {
    const [created, goOn] = [gate(), gate()];
    const archived: string[] = [];
    const port = await listen(async (request, response) => {
      const { method = "", url = "" } = request;
      if (method === "POST") {
        created.open();
        await goOn.opened;
      }
      if (method === "DELETE") archived.push(url);
      const body =
        method === "GET"
          ? { data: [{ type: "email.sent" }] }
          : { webhook_endpoint: { webhook_endpoint_id: "we_1" }, secret: "whsec_abc" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const started = start(["listen", "--port=0"], { SVC_BASE_URL: `http://127.0.0.1:${port}` });
    await created.opened;
    const ended = started.interrupt();
    await new Promise((resolve) => setTimeout(resolve, 50));
    goOn.open();
    expect(await ended).toBe(130);
    expect(archived).toEqual(["/v1/webhook-endpoints/we_1"]);
  });
});

testLinux(
  "a delivery that is saved after a full disk is not joined to the half line before it",
  async () => {
    const file = newFile("capture.jsonl");
    const args = ["listen", "--port=0", "--secret-env=SECRET", "--json", "--save", file];
    // The shell's limit stands for a full disk: 20 blocks of 512 bytes.
    const line = `ulimit -S -f 20; exec ${shell(...args)}`;
    const child = spawn("sh", ["-c", line], { env: { ...process.env, SECRET: secret } });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [first] = (await once(createInterface(child.stdout), "line")) as [string];
    const { url } = JSON.parse(first) as { readonly url: string };
    const large = JSON.stringify({ type: "email.sent", text: "x".repeat(50_000) });
    expect((await deliver(url, type)).status).toBe(200);
    expect((await deliver(url, large)).status).toBe(503);
    await promisify(execFile)("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
    expect((await deliver(url, type)).status).toBe(200);
    const written = readFileSync(file, "utf8").split("\n").map(parseCaptured);
    expect(written.filter((captured) => captured?.verdict === "genuine")).toHaveLength(2);
  },
);
