import { fork } from "node:child_process";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect } from "vitest";
import { exampleSecret } from "@svc-webhooks/kit/examples";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { describeWithRedis, redisServer } from "@svc-webhooks/kit/redis-server";

const server = fileURLToPath(new URL("../dist/server.js", import.meta.url));

/** Resolves when nothing listens on the port any more. */
async function refused(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (!isOpen) return;
  }
}

describeWithRedis("the server", () => {
  testPosix(
    "runs a delivery that is still arriving at SIGTERM, sends its response and exits",
    async ({ onTestFinished }) => {
      const redis = await redisServer();
      onTestFinished(redis.close);
      const child = fork(server, {
        env: {
          ...process.env,
          REDIS_URL: `redis://127.0.0.1:${redis.port}`,
          SVC_WEBHOOK_SECRET: exampleSecret,
        },
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const exited = once(child, "exit");
      const [{ port }] = (await once(child, "message")) as [{ port: number }];

      const { headers, body } = await signed(eventBody("email.delivered"), {}, exampleSecret);
      const sending = request({
        port,
        path: "/webhooks",
        method: "POST",
        agent: false,
        headers: { ...headers, "content-length": body.length, expect: "100-continue" },
      });
      sending.flushHeaders();
      await once(sending, "continue");
      child.kill("SIGTERM");
      await refused(port);
      const started = once(child, "message");
      const responded = once(sending, "response") as Promise<[IncomingMessage]>;
      sending.end(body);
      void started.then(() => child.send("finish"));
      const [response] = await responded;
      expect(await text(response)).toBe('{"status":"processed"}');
      expect(await exited).toEqual([0, null]);
    },
  );
});
