import { spawned } from "@svc-webhooks/kit/launch";
import { expect } from "vitest";

/** Starts a real server, which exits with 1 instead if `starts` is false, and sends it a request. */
export async function requestTo(starts: boolean): Promise<void> {
  const program = `
    if (!${starts}) process.exit(1);
    const server = require("node:http").createServer((request, response) => response.end("ready"));
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const { origin, close } = await spawned(process.execPath, "--eval", program);
  const response = await fetch(origin);
  await close();
  expect(await response.text()).toBe("ready");
}
