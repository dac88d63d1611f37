import { command } from "../command.js";
import { Failure, UsageError } from "../errors.js";
import { conceal } from "../lib/mask.js";
import type { McpModule } from "../lib/mcp-module.js";
import { loadInstalled } from "../lib/module.js";
import { wholeNumber } from "../lib/number.js";
import { serviceOptions } from "../lib/service.js";
import { table } from "../lib/terminal/table.js";
import { version } from "../version.js";

const name = "@svc-webhooks/mcp";

const options = {
  "secret-env": {
    type: "string",
    multiple: true,
    value: "name",
    text: "environment variable with a signing secret that tools may use by this name; may be repeated",
  },
  "allow-host": {
    type: "string",
    multiple: true,
    value: "host[:port]",
    text: "host that tools may send deliveries to, instead of loopback addresses; may be repeated",
  },
  write: {
    type: "boolean",
    text: "let tools send deliveries to receivers, and change a service that this command did not start",
  },
  sandbox: { type: "boolean", text: "start a sandbox, which ends with this command" },
  port: {
    type: "string",
    default: "4010",
    value: "number",
    text: "port of that sandbox on 127.0.0.1; 0 chooses a free port",
  },
  "base-url": {
    type: "string",
    value: "url",
    text: "the service's URL before /v1, if no sandbox is started (default: SVC_BASE_URL, or the sandbox at http://127.0.0.1:4010)",
  },
  "api-key-env": serviceOptions["api-key-env"],
  list: { type: "boolean", text: "print the tools, then exit" },
} as const;

export const mcp = command({
  usage: "[--secret-env <name>] [--sandbox] [--write]",
  details: [
    "Serves tools to an agent over stdin and stdout, with the Model Context Protocol. An MCP client starts this command; it ends when the client closes stdin. It needs the package @svc-webhooks/mcp.",
    "The secrets and hosts that tools may use are fixed by the options. Tools choose among them by name, and no result contains a secret. Texts from receivers and from the service are only in the field `untrusted` of a result.",
    "Without --write, tools that send deliveries or change the service refuse, except in a sandbox that --sandbox started. With --list --json, prints { tools: [{ name, title, needs_write }] }.",
  ],
  examples: [
    "svc-webhooks mcp --list",
    "svc-webhooks mcp --sandbox --secret-env SVC_WEBHOOK_SECRET",
    "svc-webhooks mcp --secret-env SVC_WEBHOOK_SECRET --allow-host localhost:3000 --write",
  ],
  options,
  async run(context) {
    const { options: values, env, stdin, stdout, signal, json, note, show } = context;
    if (json && !values.list) {
      throw new UsageError(
        "--json needs --list, because stdout contains the protocol.",
        "Remove --json, or add --list.",
      );
    }
    if (values.sandbox && values["base-url"] !== undefined) {
      throw new UsageError(
        "--sandbox and --base-url were both given.",
        "Use --sandbox to start a sandbox, or --base-url for a service that is already running.",
      );
    }
    const port = wholeNumber("--port", values.port, 0, 65_535);
    const { runMcp, toolList } = (await loadInstalled(name, missing)) as McpModule;
    if (values.list) {
      const tools = toolList();
      const columns = ["name", "needs_write", "title"] as const;
      const rows = tools.map((tool) => columns.map((column) => tool[column]));
      show({ tools }, table(columns, rows, stdout));
      return 0;
    }
    for (const variable of values["secret-env"]) conceal(env[variable] ?? "");
    await runMcp(
      {
        version: version(),
        secretEnv: values["secret-env"],
        allowHosts: values["allow-host"],
        write: values.write,
        sandboxPort: values.sandbox ? port : undefined,
        baseUrl: values["base-url"],
        apiKeyEnv: values["api-key-env"],
      },
      { env, stdin, stdout, signal, note },
    );
    return 0;
  },
});

const missing = (cause: unknown) =>
  new Failure(
    "package_missing",
    `This command requires the package ${name}, which is not installed.`,
    `Install it next to @svc-webhooks/cli: npm install --save-dev ${name}.`,
    { cause },
  );
