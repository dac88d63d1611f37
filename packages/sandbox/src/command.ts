import { WebhookError } from "@svc-webhooks/core";
import type { ClockMode } from "./clock.js";
import { openInBrowser } from "./lib/open-in-browser.js";
import { resolveOptions } from "./options.js";
import { createSandbox } from "./sandbox.js";

export { openInBrowser };

/**
 * The command's options, in the format of `parseArgs` from `node:util`, with their help texts. `value` names the
 * option's value in the help.
 */
export const commandOptions = {
  port: {
    type: "string",
    default: "4010",
    value: "number",
    text: "port on 127.0.0.1; 0 chooses a free port",
  },
  data: {
    type: "string",
    value: "file",
    text: "keep all state in a SQLite file instead of in memory",
  },
  set: {
    type: "string",
    multiple: true,
    value: "A-nn=value",
    text: "change an assumption; may be repeated",
  },
  clock: {
    type: "string",
    value: "mode",
    text: "real, manual or accelerated[:<times>] (default: the data file's, or real)",
  },
  smtp: { type: "string", value: "url", text: "also send emails to an SMTP server on loopback" },
  "allow-host": {
    type: "string",
    multiple: true,
    value: "name",
    text: "also serve requests to this host name; may be repeated",
  },
  seed: { type: "string", value: "number", text: "make ids and secrets repeatable" },
  open: { type: "boolean", text: "open the page in the default browser" },
  assumptions: { type: "boolean", text: "print all assumptions and their values, then exit" },
} as const;

/** The values of {@link commandOptions}. Absent options have their defaults. */
export interface CommandValues {
  readonly port?: string | undefined;
  readonly data?: string | undefined;
  readonly set?: readonly string[] | undefined;
  readonly clock?: string | undefined;
  readonly smtp?: string | undefined;
  readonly "allow-host"?: readonly string[] | undefined;
  readonly seed?: string | undefined;
  readonly open?: boolean | undefined;
  readonly assumptions?: boolean | undefined;
}

/** The parts of the process that the command uses. */
export interface CommandContext {
  /** Receives the base URL, or the assumptions. */
  readonly stdout: { readonly isTTY?: boolean; write(text: string): unknown };
  /** Closes the sandbox when aborted. */
  readonly signal: AbortSignal;
  /** Writes JSON: `{"url":"http://127.0.0.1:4010"}`, or the list of assumptions. Default false. */
  readonly json?: boolean | undefined;
}

/**
 * Runs the command: serves the interface and the page until `signal` is aborted, or prints the assumptions. The first
 * line on stdout contains the base URL. If `open` is true and no browser can be opened, it writes one line to stderr
 * and continues.
 *
 * @throws WebhookError (as a rejection) `wrong_usage` for an invalid value
 * @throws ReceiverConfigError (as a rejection) `invalid_option`, `unknown_option`, as `createSandbox` does
 * @throws Error (as a rejection) if the port is taken or the data file cannot be used
 *
 * @example
 * ```ts
 * import { runCommand } from "@svc-webhooks/sandbox/command";
 *
 * const { signal } = new AbortController();
 * await runCommand({ assumptions: true }, { stdout: process.stdout, signal, json: true });
 * ```
 */
export async function runCommand(
  values: CommandValues,
  { stdout, signal, json = false }: CommandContext,
): Promise<void> {
  const assumptions = assumptionsFrom(values.set ?? []);
  if (values.assumptions === true) {
    stdout.write(json ? `${JSON.stringify(listOf(assumptions))}\n` : textOf(assumptions));
    return;
  }
  const clock = clockFrom(values.clock ?? "");
  const port = numberFrom("port", values.port ?? commandOptions.port.default, 65_535);
  const seed = values.seed === undefined ? undefined : numberFrom("seed", values.seed, 2 ** 32 - 1);
  const sandbox = createSandbox({
    clock,
    data: values.data,
    assumptions,
    smtp: values.smtp,
    allowHosts: values["allow-host"],
    seed,
  });
  try {
    const { url } = await sandbox.listen(port);
    stdout.write(
      json ? `${JSON.stringify({ url })}\n` : `The sandbox serves the interface at ${url}\n`,
    );
    const page = `${url}/`;
    if (stdout.isTTY === true && !json) {
      stdout.write(
        `  export SVC_BASE_URL=${url} SVC_API_KEY=svc_test\nOpen ${page} in a browser to see what was sent and what happened to it.\nPress Ctrl-C to stop the sandbox.\n`,
      );
    }
    if (values.open === true)
      openInBrowser(page, (line) => process.stderr.write(`svc-webhooks sandbox: ${line}\n`));
    await aborted(signal);
  } finally {
    await sandbox.close();
  }
}

const usage = (message: string) => new WebhookError("wrong_usage", message);

function numberFrom(option: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value <= max) return value;
  throw usage(`--${option} must be a number from 0 to ${max}.`);
}

function clockFrom(
  text: string,
): { readonly mode: ClockMode; readonly speed?: number } | undefined {
  if (text === "") return undefined;
  const [, mode, speed] = /^(real|manual|accelerated)(?::(\d{1,6}))?$/.exec(text) ?? [];
  if (
    mode === undefined ||
    Number(speed) === 0 ||
    (speed !== undefined && mode !== "accelerated")
  ) {
    throw usage("--clock must be real, manual, accelerated or accelerated:<times>.");
  }
  return { mode: mode as ClockMode, ...(speed === undefined ? {} : { speed: Number(speed) }) };
}

function assumptionsFrom(words: readonly string[]): Readonly<Record<string, string>> {
  const pairs = words.map((word) => {
    const [, id, value] = /^(A-\d\d)=(.+)$/.exec(word) ?? [];
    if (id === undefined || value === undefined)
      throw usage(
        `--set must have the form A-nn=value, such as A-06=reject. --assumptions lists all assumptions.`,
      );
    return [id, value] as const;
  });
  return Object.fromEntries(pairs);
}

const listOf = (assumptions: Readonly<Record<string, string>>) =>
  resolveOptions({ assumptions }).ledger.list();

function textOf(assumptions: Readonly<Record<string, string>>): string {
  const lines = listOf(assumptions).map(
    ({ id, setting, value, default: first, alternatives, text }) => {
      const others = alternatives.filter((word) => word !== value);
      const also = others.length === 0 ? [] : [`also ${others.join(", ")}`];
      const choices = [value === first ? "default" : `default ${first}`, ...also].join("; ");
      return `${id}  ${setting}: ${value} (${choices})\n      ${text}\n`;
    },
  );
  return lines.join("");
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
