import { spawned } from "@svc-webhooks/kit/launch";

/** Starts a real server, which exits with 1 instead if `starts` is false. Resolves to the text of its response. */
export async function requestTo(starts: boolean): Promise<string> {
  const program = `
    if (!${starts}) process.exit(1);
    const server = require("node:http").createServer((request, response) => response.end("ready"));
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const { origin, close } = await spawned(process.execPath, "--eval", program);
  const response = await fetch(origin);
  await close();
  return response.text();
}
