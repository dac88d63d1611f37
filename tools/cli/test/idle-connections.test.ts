import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { served } from "./listening.js";

test.each([
  ["nothing", ""],
  ["half of its headers", "POST / HTTP/1.1\r\nHost: x\r\n"],
])("listen closes a connection that sends %s", async (_what, sent) => {
  const { port, signal } = await served(50);
  const socket = connect(port, "127.0.0.1");
  socket.write(sent);
  socket.resume();
  await once(socket, "close");
  expect(signal.aborted).toBe(false);
});
