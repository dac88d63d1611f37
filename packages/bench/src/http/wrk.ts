import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { outputOf, withFile } from "./command.js";
import { connections, type Loaded, type LoadTool } from "./load.js";
import type { SignedRequest } from "./request.js";

export const hasWrk = (): boolean => !spawnSync("wrk", ["--version"]).error;

/** https://github.com/wg/wrk */
export const wrk: LoadTool = {
  name: "wrk",
  load: (port, request, ms) =>
    withFile(luaScript(request, port), async (script) => {
      // It knows whole seconds only. Interrupted, it reports on what it has done until then.
      const longer = `-d${Math.ceil(ms / 1_000) + 1}s`;
      const url = `http://127.0.0.1:${port}/webhooks`;
      const args = ["-t1", `-c${connections}`, longer, "-s", script, url];
      return parseWrk(await outputOf("wrk", args, ms));
    }),
};

/** What it asks for each request, in one thread: a number of their own tells them apart. */
function luaScript({ headers, body }: SignedRequest, port: number): string {
  const id = "\0";
  const fields = {
    host: `127.0.0.1:${port}`,
    "content-length": String(body.length),
    ...headers(id),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `POST /webhooks HTTP/1.1\r\n${lines.join("")}\r\n${Buffer.from(body).toString()}`;
  return `
local parts = { ${text.split(id).map(luaString).join(", ")} }
local number = 0

function request()
  number = number + 1
  return table.concat(parts, "dlv_${randomUUID()}_" .. number)
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"answered":%d,"refused":%d,"broken":%d,"microseconds":%d}\\n',
    summary.requests,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration
  ))
end
`;
}

/** By the number of every byte: Lua's escapes are not those of JSON. */
const luaString = (text: string) =>
  `"${Array.from(Buffer.from(text), (byte) => `\\${byte}`).join("")}"`;

/** The last line is the script's; above it is what wrk prints for people. */
function parseWrk(output: string): Loaded {
  const { microseconds, ...counts } = JSON.parse(
    output.trimEnd().split("\n").at(-1) ?? "",
  ) as Record<"answered" | "refused" | "broken" | "microseconds", number>;
  return { ...counts, seconds: microseconds / 1e6 };
}
