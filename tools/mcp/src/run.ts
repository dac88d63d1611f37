import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createSandbox } from "@svc-webhooks/sandbox";
import { baseUrlOf, type McpOptions, type McpProcess } from "@svc-webhooks/cli/workbench";
import { systemClock } from "./clock.js";
import { maskOf, type Mask } from "./lib/mask.js";
import { createServer } from "./server.js";
import { resolveHosts } from "./setup/hosts.js";
import { readSecrets } from "./setup/secrets.js";
import { serviceAt } from "./setup/service.js";

/**
 * Serves the tools over stdin and stdout until stdin is closed or fails, until the client sends a message of more than
 * 10 MiB, or until `signal` is aborted. Then cancels all running calls, closes the sandbox if there is one, and
 * resolves.
 *
 * @throws WebhookError `wrong_usage` (as a rejection) for a variable that is not set, whose name is not valid, or whose
 *   value is too short, and for a host that is not valid or has no address
 * @throws Error (as a rejection) if the sandbox's port is taken
 *
 * @example
 * ```ts
 * import { runMcp } from "@svc-webhooks/mcp";
 *
 * const { env, stdin, stdout } = process;
 * const options = {
 *   version: "1.0.0",
 *   secretEnv: [],
 *   allowHosts: [],
 *   write: false,
 *   sandboxPort: undefined,
 *   baseUrl: undefined,
 *   apiKeyEnv: undefined,
 * };
 * // Stops the server after a second.
 * const signal = AbortSignal.timeout(1_000);
 * await runMcp(options, { env, stdin, stdout, signal, note: () => {} });
 * ```
 */
export async function runMcp(options: McpOptions, process: McpProcess): Promise<void> {
  const { env, stdin, stdout, signal, note } = process;
  const secrets = readSecrets(options.secretEnv, env);
  const apiKey = env[options.apiKeyEnv ?? "SVC_API_KEY"] ?? "";
  // A short key cannot be masked, because it may occur in other text. The default key is not secret: it is only for
  // sandboxes, which accept any key.
  const keys = apiKey.length >= 8 && apiKey !== "svc_test" ? [apiKey] : [];
  const mask = maskOf([...secrets.values, ...keys]);
  const sandbox = await openSandbox(options.sandboxPort, mask, note);
  try {
    const isOwn = sandbox !== undefined;
    const baseUrl = sandbox?.url ?? baseUrlOf({ options: { "base-url": options.baseUrl }, env });
    const reserved = URL.canParse(baseUrl) ? [new URL(baseUrl)] : [];
    const hosts = await resolveHosts(options.allowHosts, reserved);
    const service = serviceAt({ isOwn, baseUrl, apiKeyEnv: options.apiKeyEnv, env });
    const { write, version } = options;
    const world = { secrets, hosts, service, write, clock: systemClock };
    const ended = endOf(stdin, signal);
    const transport = new StdioServerTransport(stdin, stdout as unknown as Writable);
    // Ends the server when the transport closes. The transport closes after a message that is too long, without reading
    // stdin to its end.
    const close = transport.close.bind(transport);
    transport.close = async () => {
      await close();
      ended.end();
    };
    const connection = serveStdio(() => createServer(world, mask, version, ended.signal), {
      transport,
      onerror: () => note("A message from the client could not be processed."),
    });
    if (sandbox) note(mask(`The sandbox serves the interface at ${sandbox.url}`));
    note(mask(`Serving tools over stdin and stdout. Receivers: ${hosts.allowed}.`));
    await ended.promise;
    await connection.close();
  } finally {
    await sandbox?.close();
  }
}

async function openSandbox(
  port: number | undefined,
  mask: Mask,
  note: (line: string) => void,
): Promise<{ readonly url: string; readonly close: () => Promise<void> } | undefined> {
  if (port === undefined) return undefined;
  const sandbox = createSandbox({ log: (line) => note(mask(line)) });
  try {
    const { url } = await sandbox.listen(port);
    return { url, close: () => sandbox.close() };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

/** Returns a signal and a promise that report the end of the connection, and a function that ends the connection. */
function endOf(stdin: Readable, stopped: AbortSignal) {
  const ended = new AbortController();
  const promise = once(ended.signal, "abort");
  const end = () => ended.abort();
  stdin.once("end", end);
  stdin.once("close", end);
  stdin.once("error", end);
  if (stopped.aborted) end();
  else stopped.addEventListener("abort", end, { once: true });
  return { signal: ended.signal, promise, end };
}
