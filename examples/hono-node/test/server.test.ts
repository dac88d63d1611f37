import { spawn } from "node:child_process";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { signedDelivery } from "@svc-webhooks/testing";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import {
  exampleEvent,
  exampleSecret,
  expectedResponses,
  responsesOf,
  testReadmeCurl,
} from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** Starts the server as `npm start` does, on a free port. */
async function start() {
  const child = spawn(process.execPath, ["dist/server.js"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_WEBHOOK_SECRET: exampleSecret, PORT: "0" },
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const lines: string[] = [];
  const output = createInterface(child.stdout).on("line", (line) => lines.push(line));
  const printed = async (text: string) => {
    for (;;) {
      const match = lines.find((line) => line.startsWith(text));
      if (match !== undefined) return match;
      await once(output, "line");
    }
  };
  const port = Number((await printed("Listening on")).split(":").at(-1));
  return { child, exited, lines, printed, port, origin: `http://127.0.0.1:${port}` };
}

test("processes a delivery once and refuses a forged one", async () => {
  const { origin, lines, printed } = await start();
  expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
  await printed("delivered: msg_1");
  expect(lines.filter((line) => line === "delivered: msg_1")).toHaveLength(1);
});

testPosix(
  "refuses new connections on SIGTERM, responds to pending requests and exits with 0",
  async () => {
    const { child, exited, printed, port, origin } = await start();
    const { method, headers, body } = await signedDelivery(exampleEvent, { secret: exampleSecret });
    const sending = request(`${origin}/webhooks`, { method, headers, agent: false });
    sending.write(body.subarray(0, 10));
    await printed("<-- POST /webhooks");

    child.kill("SIGTERM");
    const accepts = async () => {
      const socket = connect(port, "127.0.0.1");
      const connected = once(socket, "connect").then(Boolean, () => false);
      return connected.finally(() => socket.destroy());
    };
    while (await accepts());

    sending.end(body.subarray(10));
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(200);
    expect(await exited).toEqual([0, null]);
  },
);

testReadmeCurl(folder, async () => (await start()).origin);
