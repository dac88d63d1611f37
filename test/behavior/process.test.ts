import { once } from "node:events";
import { expect, test } from "vitest";
import { collected } from "@svc-webhooks/kit/collected";
import { startModule } from "@svc-webhooks/kit/programs";

const script = `
  import { createServer } from "node:http";
  import { createReceiver, sign } from "@svc-webhooks/core";
  import { webhooks } from "@svc-webhooks/node";

  // A handler that exceeds its timeout leaves a lease timer running, which must not keep the process alive.
  const receiver = createReceiver({
    secret: "whsec_test",
    handlerTimeoutMs: 1,
    on: { "*": () => new Promise(() => {}) },
  });
  const server = createServer(webhooks(receiver)).listen(0, "127.0.0.1", async () => {
    const body = '{"type":"email.sent"}';
    const response = await fetch("http://127.0.0.1:" + server.address().port, {
      method: "POST",
      body,
      headers: {
        "X-SVC-Signature": await sign(body, "whsec_test"),
        "X-SVC-Delivery-Id": "dlv_1",
        Connection: "close",
      },
    });
    console.log(response.status, await response.text());
    server.close(() => {
      console.log("closed");
      // This line is printed only if something else keeps the process alive.
      setTimeout(() => console.log("still running"), 2_000).unref();
    });
  });
`;

test("a process that has served a delivery and closed its server exits by itself within 2 s", async () => {
  const child = startModule(script);
  const output = collected(child.stdout);
  const [exitCode] = (await once(child, "close")) as [number];
  expect(output()).toContain('503 {"error":{"code":"handler_timeout"');
  expect(exitCode).toBe(0);
  expect(output()).toMatch(/closed\n$/);
});
