import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { signedDelivery } from "@svc-webhooks/testing";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import {
  exampleEvent,
  exampleSecret,
  expectedResponses,
  responsesOf,
  startExample,
  testReadmeCurl,
} from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

const start = () => startExample(folder, "dist/server.js");

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
