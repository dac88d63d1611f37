import { once } from "node:events";
import { connect } from "node:net";
import { freePort } from "@svc-webhooks/kit/free-port";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../src/listen/server.js";
import { serviceVerifier } from "../src/schemes/verifier.js";

test.each([
  ["nothing", ""],
  ["half of its headers", "POST / HTTP/1.1\r\nHost: x\r\n"],
])("listen closes a connection that sends %s", async (_what, sent) => {
  const port = await freePort();
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const listening = new Promise<void>((resolve) => {
    void serve({
      port,
      verifierFor: async () => {
        resolve();
        return serviceVerifier([]);
      },
      maxBytes: 1,
      target: undefined,
      save: async () => undefined,
      onReceived: () => {},
      signal: controller.signal,
      headersMs: 50,
    });
  });
  await listening;
  const socket = connect(port, "127.0.0.1");
  socket.write(sent);
  socket.resume();
  await once(socket, "close");
  expect(controller.signal.aborted).toBe(false);
});
