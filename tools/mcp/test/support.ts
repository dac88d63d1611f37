import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { Client, type CallToolResult } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createReceiver, type ReceiverOptions } from "@svc-webhooks/core";
import { collected } from "@svc-webhooks/kit/collected";
import { root } from "@svc-webhooks/kit/programs";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { webhooks } from "@svc-webhooks/node";
import { expect, onTestFinished } from "vitest";
import { run } from "../../cli/src/run.js";

export const secret = "whsec_MfKQ9r8G/YqrTwj+PD8ILPZ/o2La+aSw";

const program = join(root, "tools/cli/bin/svc-webhooks.js");

export interface Result {
  readonly ok: boolean;
  readonly code: string;
  readonly happened: string;
  readonly cause?: string;
  readonly fix?: string;
  readonly facts?: Readonly<Record<string, never>>;
  readonly untrusted?: string;
  readonly next_step: string;
}

export interface Connected {
  readonly client: Client;
  /** Calls a tool, and checks that its text has the same content as its structured result. */
  readonly call: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
  ) => Promise<Result & { readonly isError: boolean }>;
  /** All calls so far, as they arrived. */
  readonly results: readonly CallToolResult[];
  /** The lines on stderr so far. */
  readonly stderr: () => string;
  /** Resolves with the base URL of the server's own sandbox. */
  readonly sandboxUrl: () => Promise<string>;
}

/**
 * Runs `svc-webhooks mcp` and connects the SDK's client, until the test ends. It runs in this process, which saves starting
 * one; `connectProcess` runs the program as it is installed.
 */
export async function connect(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Connected> {
  const [toServer, toClient] = [new PassThrough(), new PassThrough()];
  let written = "";
  const ended = run(["mcp", ...args], {
    env: { PATH: process.env["PATH"] ?? "", SECRET: secret, ...env },
    stdin: toServer,
    stdout: toClient,
    stderr: { write: (text) => (written += text) },
    signal: new AbortController().signal,
  });
  // The messages on stdin and stdout have the same form in both directions.
  const transport = new StdioServerTransport(toClient, toServer);
  const connected = await connectOver(transport, () => written);
  onTestFinished(async () => {
    await connected.client.close();
    toServer.end();
    await ended;
  });
  return connected;
}

/** Starts the program `svc-webhooks mcp` and connects the SDK's client, until the test ends. */
export async function connectProcess(
  args: readonly string[],
): Promise<Connected & { readonly transport: StdioClientTransport }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, "mcp", ...args],
    env: { PATH: process.env["PATH"] ?? "", SECRET: secret },
    stderr: "pipe",
  });
  const connected = await connectOver(transport, collected(transport.stderr as Readable));
  onTestFinished(() => connected.client.close());
  return { ...connected, transport };
}

async function connectOver(
  transport: StdioClientTransport | StdioServerTransport,
  stderr: () => string,
): Promise<Connected> {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  const results: CallToolResult[] = [];
  return {
    client,
    results,
    stderr,
    async call(name, given = {}) {
      const result = await client.callTool({ name, arguments: given });
      results.push(result);
      const [content] = result.content;
      expect(content?.type === "text" && JSON.parse(content.text)).toEqual(
        result.structuredContent,
      );
      const value = result.structuredContent as Result;
      return { ...value, isError: result.isError === true };
    },
    async sandboxUrl() {
      const shown = () => /sandbox serves the interface at (http:\S+)\n/.exec(stderr())?.[1];
      await until(() => shown() !== undefined, "the sandbox's URL is on stderr");
      return shown() ?? "";
    },
  };
}

/** Serves a receiver with the tests' secret until the test ends. Returns its URL. */
export async function receiverUrl(
  on: ReceiverOptions["on"] = { "*": () => {} },
  key = secret,
): Promise<string> {
  const receiver = createReceiver({ secret: key, on, log: () => {}, onHandlerError: () => {} });
  return `http://127.0.0.1:${await listen(webhooks(receiver))}/webhooks`;
}

/** Posts to a control route of a sandbox. */
export async function post(url: string, body: object): Promise<Readonly<Record<string, never>>> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  expect([response.ok, text]).toEqual([true, text]);
  return JSON.parse(text) as Readonly<Record<string, never>>;
}

/**
 * Registers an endpoint in the sandbox whose receiver has its secret, and whose handlers are `on`. Returns the id.
 */
export async function endpointOf(
  sandbox: string,
  on: ReceiverOptions["on"] = { "*": () => {} },
): Promise<string> {
  let key = "whsec_not_known_yet_000000";
  const receiver = createReceiver({
    secret: () => key,
    on,
    log: () => {},
    onHandlerError: () => {},
  });
  const url = `http://127.0.0.1:${await listen(webhooks(receiver))}/`;
  const event_types = ["email.sent", "email.delivered"];
  const created = await post(`${sandbox}/_sandbox/endpoints`, { url, event_types });
  const { webhook_endpoint, secret: ownSecret } = created as unknown as {
    readonly webhook_endpoint: { readonly webhook_endpoint_id: string };
    readonly secret: string;
  };
  key = ownSecret;
  return webhook_endpoint.webhook_endpoint_id;
}
