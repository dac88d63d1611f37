import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection } from "node:net";
import { join } from "node:path";
import { collected, outputFrom } from "@svc-webhooks/kit/collected";
import { root } from "@svc-webhooks/kit/programs";
import { until } from "@svc-webhooks/kit/until";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test } from "vitest";
import { connectProcess, endpointOf } from "./support.js";

const program = join(root, "tools/cli/bin/svc-webhooks.js");

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const isListening = (url: string) =>
  new Promise<boolean>((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = createConnection(Number(port), hostname);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

test("a client that disconnects ends the server and its sandbox", async () => {
  const { client, transport, sandboxUrl } = await connectProcess(["--sandbox", "--port=0"]);
  const url = await sandboxUrl();
  const { pid } = transport;
  expect(isRunning(pid ?? 0)).toBe(true);
  expect(await isListening(url)).toBe(true);
  await client.close();
  await until(() => !isRunning(pid ?? 0), "the server has ended");
  expect(await isListening(url)).toBe(false);
});

/** Starts the server with a pipe of its own, so that a test can close stdin without any signal. */
function startServer(...args: readonly string[]) {
  const child = spawn(process.execPath, [program, "mcp", "--sandbox", "--port=0", ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = outputFrom(child);
  const ended = once(child, "close");
  const url = async () => {
    const shown = () => /interface at (http:\S+)\n/.exec(output.stderr)?.[1];
    await until(() => shown() !== undefined, "the sandbox listens");
    return shown() ?? "";
  };
  return { child, ended, url, output: () => output.stdout };
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};

test("the end of stdin alone ends the server, even while a call waits and deliveries are pending", async () => {
  const { child, ended, url, output } = startServer();
  const sandbox = await url();
  await endpointOf(sandbox, {
    "*": () => {
      throw new Error("broken");
    },
  });
  const lines = [
    initialize,
    { jsonrpc: "2.0", method: "notifications/initialized" },
    {
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "deliver", arguments: { mode: "signed" } },
    },
    {
      jsonrpc: "2.0",
      id: 3,
      method: "tools/call",
      params: { name: "wait_for", arguments: { state: "succeeded", timeout_seconds: 50 } },
    },
  ];
  child.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await until(() => output().includes('"id":2'), "the delivery has started");
  child.stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await isListening(sandbox)).toBe(false);
});

test("a message of more than 10 MB ends the server and its sandbox", async () => {
  const { child, ended, url } = startServer();
  const sandbox = await url();
  // The server may end before it has read everything.
  child.stdin.on("error", () => {});
  child.stdin.write(`${"z".repeat(11_000_000)}\n`);
  expect(await ended).toEqual([0, null]);
  expect(await isListening(sandbox)).toBe(false);
});

testPosix("a client that is killed ends the server and its sandbox", async () => {
  // The shell is the client: the server's stdin is a pipe that only the shell has.
  const script = `exec 3>&1; { read line; } | ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} mcp --sandbox --port=0 2>&3`;
  const shell = spawn("bash", ["-c", script], { detached: true });
  onTestFinished(() => {
    try {
      process.kill(-(shell.pid ?? 0), "SIGKILL");
    } catch {
      // The group has ended already.
    }
  });
  const written = collected(shell.stdout);
  const shown = () => /interface at (http:\S+)\n/.exec(written())?.[1];
  await until(() => shown() !== undefined, "the sandbox listens");
  const sandbox = shown() ?? "";
  expect(await isListening(sandbox)).toBe(true);
  shell.stdin.end("\n");
  await until(async () => !(await isListening(sandbox)), "the sandbox has ended");
});

testPosix("SIGTERM ends the server", async () => {
  const { child, ended, url } = startServer();
  await url();
  child.kill("SIGTERM");
  expect(await ended).toEqual([143, null]);
});

test("stdout contains only messages of the protocol", async () => {
  const { child, ended, url, output } = startServer();
  await url();
  child.stdin.write(`no message\n${JSON.stringify(initialize)}\n`);
  await until(() => output().includes('"id":1'), "the server has responded");
  child.stdin.end();
  await ended;
  const lines = output().trimEnd().split("\n");
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
});
