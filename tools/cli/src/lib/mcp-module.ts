import type { Process } from "../command.js";

/** The settings of the server. They are fixed while it runs: no tool can change them. */
export interface McpOptions {
  /** The version that the server reports to clients. */
  readonly version: string;
  /** The names of the environment variables that contain signing secrets. */
  readonly secretEnv: readonly string[];
  /** The hosts that tools may send deliveries to, as `host` or `host:port`. Empty: loopback addresses only. */
  readonly allowHosts: readonly string[];
  /** Whether tools may send deliveries to receivers, and change a service that the server did not start. */
  readonly write: boolean;
  /** The port of the server's own sandbox, or undefined for none. 0 chooses a free port. */
  readonly sandboxPort: number | undefined;
  /** The service's URL before `/v1`. Undefined: `SVC_BASE_URL`, or the default address of a sandbox. */
  readonly baseUrl: string | undefined;
  /** The environment variable that contains the API key. Undefined: `SVC_API_KEY`. */
  readonly apiKeyEnv: string | undefined;
}

export interface McpProcess extends Pick<Process, "env" | "stdin" | "stdout" | "signal"> {
  /** Writes a line for the operator to stderr. */
  readonly note: (line: string) => void;
}

export interface ToolSummary {
  readonly name: string;
  readonly title: string;
  /** When the tool needs `--write`: never, always, or unless it uses the server's own sandbox. */
  readonly needs_write: "never" | "always" | "outside_own_sandbox";
}

/** The exports of `@svc-webhooks/mcp` that the command uses. The package is loaded only when the command runs. */
export interface McpModule {
  readonly runMcp: (options: McpOptions, process: McpProcess) => Promise<void>;
  readonly toolList: () => readonly ToolSummary[];
}
