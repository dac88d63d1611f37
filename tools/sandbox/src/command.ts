import type { ClockMode } from "./clock.js";
import { wrongUsage } from "./errors.js";
import { isSecret } from "./lib/mask.js";
import { openInBrowser } from "./lib/open-in-browser.js";
import { resolveOptions } from "./options.js";
import { runScenario } from "./run-scenario.js";
import { createSandbox } from "./sandbox.js";
import { readScenario } from "./scenario/read-scenario.js";
import { reportText } from "./scenario/report.js";

export { openInBrowser };
export { tlsText } from "./network/tls-text.js";
export { faultKinds } from "./state/records.js";

/**
 * The command's options, in the format of `parseArgs` from `node:util`, with their help texts. `value` names the
 * option's value in the help.
 */
export const commandOptions = {
  port: {
    type: "string",
    default: "4010",
    value: "number",
    text: "port to listen on; 0 chooses a free port",
  },
  bind: {
    type: "string",
    default: "127.0.0.1",
    value: "address",
    text: "address to listen on: 127.0.0.1, or 0.0.0.0 in a container",
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
  scenario: {
    type: "string",
    value: "file",
    text: "run a scenario (a file, or the name of one in the package), print its report and exit with 0 if the receiver meets all expectations, otherwise with 1",
  },
  to: { type: "string", value: "url", text: "with --scenario: the URL of the receiver" },
  "secret-env": {
    type: "string",
    multiple: true,
    value: "name",
    text: "with --scenario: environment variable with the signing secret; repeat it for each rotation of the secret",
  },
  open: { type: "boolean", text: "open the page in the default browser" },
  assumptions: { type: "boolean", text: "print all assumptions and their values, then exit" },
} as const;

type Options = typeof commandOptions;

/** The values of {@link commandOptions}. Absent options have their defaults. */
export type CommandValues = {
  readonly [Name in keyof Options]?:
    | (Options[Name] extends { readonly multiple: true }
        ? readonly string[]
        : Options[Name] extends { readonly type: "string" }
          ? string
          : boolean)
    | undefined;
};

/** The parts of the process that the command uses. */
export interface CommandContext {
  /** Receives the base URL (on a terminal, with hints), the assumptions, or the report of a scenario. */
  readonly stdout: { readonly isTTY?: boolean; write(text: string): unknown };
  /** Closes the sandbox, or ends a running scenario, when aborted. */
  readonly signal: AbortSignal;
  /** Whether to write JSON: `{"url":"http://127.0.0.1:4010"}`, the assumptions, or the report. Default false. */
  readonly json?: boolean | undefined;
  /** The environment variables from which `secret-env` reads a scenario's secrets. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * Runs the command: serves the interface and the page until `signal` is aborted, prints the assumptions, or runs a
 * scenario and prints its report. A server first writes a line with its base URL to stdout. If `open` is true and no
 * browser can be opened, it writes one line to stderr and continues.
 *
 * @returns the exit code: 1 if a scenario's expectations were not all met, otherwise 0
 * @throws WebhookError (as a rejection) `wrong_usage` for an invalid value or scenario
 * @throws ConfigError (as a rejection) `invalid_option`, `unknown_option`, as `createSandbox` does
 * @throws Error (as a rejection) if the port is in use or the data file cannot be used
 * @throws the reason of `signal` (as a rejection) if it is aborted while a scenario runs
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
  { stdout, signal, json = false, env = process.env }: CommandContext,
): Promise<0 | 1> {
  if (values.scenario !== undefined) {
    const report = await runFile(values.scenario, values, env, signal);
    stdout.write(json ? `${JSON.stringify(report)}\n` : reportText(report));
    return report.met ? 0 : 1;
  }
  for (const name of ["to", "secret-env"] as const)
    if (isGiven(values[name])) throw wrongUsage(`--${name} needs --scenario FILE.`);
  const assumptions = assumptionsFrom(values.set ?? []);
  if (values.assumptions === true) {
    stdout.write(json ? `${JSON.stringify(listOf(assumptions))}\n` : textOf(assumptions));
    return 0;
  }
  const clock = clockFrom(values.clock ?? "");
  const port = numberFrom("port", values.port ?? commandOptions.port.default, 65_535);
  const bind = bindFrom(values.bind ?? commandOptions.bind.default);
  const seed = seedFrom(values);
  const sandbox = createSandbox({
    clock,
    data: values.data,
    assumptions,
    smtp: values.smtp,
    allowHosts: values["allow-host"],
    seed,
  });
  try {
    const { url } = await sandbox.listen(port, bind);
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
    return 0;
  } finally {
    await sandbox.close();
  }
}

/** The options that `--scenario` excludes: a scenario has its own clock and assumptions, and serves no page. */
const serverOptions = ["set", "clock", "smtp", "allow-host", "open", "assumptions"] as const;

async function runFile(
  scenario: string,
  values: CommandValues,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
) {
  for (const name of serverOptions)
    if (isGiven(values[name]))
      throw wrongUsage(`--${name} cannot be used with --scenario. Remove one of them.`);
  const secrets = (values["secret-env"] ?? []).map((name) => {
    const secret = env[name] ?? "";
    if (isSecret(secret)) return secret;
    throw wrongUsage(
      secret === ""
        ? `The environment variable ${name} is not set. Set it to the signing secret that your receiver uses.`
        : `The environment variable ${name} does not contain a signing secret of the form whsec_…. Set it to the signing secret that your receiver uses.`,
    );
  });
  return runScenario(readScenario(scenario), {
    to: values.to,
    secrets,
    data: values.data,
    seed: seedFrom(values),
    signal,
  });
}

const seedFrom = ({ seed }: CommandValues) =>
  seed === undefined ? undefined : numberFrom("seed", seed, 2 ** 32 - 1);

/**
 * Whether an option was given. False and an empty list count as absent, because some parsers set them for absent
 * options.
 */
const isGiven = (value: CommandValues[keyof CommandValues]) =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;

function numberFrom(option: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value <= max) return value;
  throw wrongUsage(`--${option} must be a number from 0 to ${max}.`);
}

function bindFrom(text: string): "127.0.0.1" | "0.0.0.0" {
  if (text === "127.0.0.1" || text === "0.0.0.0") return text;
  throw wrongUsage("--bind must be 127.0.0.1 or 0.0.0.0.");
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
    throw wrongUsage("--clock must be real, manual, accelerated or accelerated:<times>.");
  }
  return { mode: mode as ClockMode, ...(speed === undefined ? {} : { speed: Number(speed) }) };
}

function assumptionsFrom(words: readonly string[]): Readonly<Record<string, string>> {
  const pairs = words.map((word) => {
    const [, id, value] = /^(A-\d\d)=(.+)$/.exec(word) ?? [];
    if (id === undefined || value === undefined)
      throw wrongUsage(
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
