import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { outputFrom } from "@svc-webhooks/kit/collected";
import { root } from "@svc-webhooks/kit/programs";
import { describeRequiring, testRequiring } from "@svc-webhooks/kit/requiring";
import { until } from "@svc-webhooks/kit/until";
import { onTestFinished } from "vitest";
import { run } from "../src/run.js";

export const main: string = join(root, "tools/cli/bin/svc-webhooks.js");

export const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the variables of the tests' commands: a secret, and none that would change their output. */
const environment = (env: Environment) => ({
  ...process.env,
  SVC_BASE_URL: undefined,
  NO_COLOR: undefined,
  FORCE_COLOR: undefined,
  TERM: "xterm",
  SECRET: secret,
  ...env,
});

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the command; it is killed when the test ends. */
export function start(
  args: readonly string[],
  env: Environment = {},
  program: string = main,
): Started {
  const child = spawn(process.execPath, [program, ...args], { env: environment(env) });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = outputFrom(child);
  const closed = once(child, "close").then(([code]) => code as number | null);
  return {
    child,
    output,
    ended: closed.then((code) => ({ code, ...output })),
    async shows(wanted, stream = "stdout") {
      let isEnded = false;
      void closed.then(() => (isEnded = true));
      const isShown = () => wanted.test(output[stream]);
      await until(() => isShown() || isEnded, `${stream} shows ${String(wanted)}`);
      if (!isShown())
        throw new Error(`It ended without ${String(wanted)}: ${JSON.stringify(output)}`);
    },
    interrupt() {
      child.kill("SIGINT");
      return closed;
    },
  };
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  /** The output that the command has written so far. */
  readonly output: Readonly<Record<"stdout" | "stderr", string>>;
  readonly ended: Promise<Ended>;
  /** Resolves when the output matches. Rejects if the command ends before. */
  readonly shows: (wanted: RegExp, stream?: "stdout" | "stderr") => Promise<void>;
  /** Sends Ctrl-C. Resolves to the exit code. */
  readonly interrupt: () => Promise<number | null>;
}

/**
 * Runs the command to its end, with bytes on stdin. It runs in this process, which saves starting one; `start` runs
 * the program as it is installed.
 */
export async function cli(
  args: readonly string[],
  {
    input = "",
    env = {},
  }: { readonly input?: string | Uint8Array; readonly env?: Environment } = {},
): Promise<Ended> {
  const output = { stdout: "", stderr: "" };
  const code = await run(args, {
    env: environment(env),
    stdin: Readable.from([Buffer.from(input)]),
    stdout: { write: (text) => (output.stdout += text) },
    stderr: { write: (text) => (output.stderr += text) },
    signal: new AbortController().signal,
  });
  return { code, ...output };
}

/** Runs a command with `--json`, whose output is one line. */
export async function json(args: readonly string[], input: string | Uint8Array = "", env = {}) {
  const { code, stdout } = await cli([...args, "--json"], { input, env });
  return { code, value: JSON.parse(stdout) as Readonly<Record<string, unknown>> };
}

/** Returns a path in a folder that exists until the test ends. */
export function newFile(name = "file"): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, name);
}

/** Whether this is `script` of util-linux, which gives a command a pseudo-terminal. That of macOS has other options. */
const hasTerminal = spawnSync("script", ["--version"]).status === 0;

/** `test` for a test that needs a terminal. */
export const testInTerminal = testRequiring("script of util-linux", hasTerminal);

/** `describe` for tests that need a terminal. */
export const describeInTerminal = describeRequiring("script of util-linux", hasTerminal);

/** Runs a shell command line in a pseudo-terminal. `keys` are typed once its output matches. */
export async function inTerminal(
  commandLine: string,
  env: Environment = {},
  keys?: { readonly after: RegExp; readonly type: string },
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn("script", ["-qefc", commandLine, "/dev/null"], { env: environment(env) });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let isTyped = keys === undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (isTyped || !keys?.after.test(output)) return;
    isTyped = true;
    child.stdin.write(keys.type);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** Quotes a command for a shell. */
export const shell = (...args: readonly string[]): string =>
  [process.execPath, main, ...args].map(quoted).join(" ");

const quoted = (arg: string) => `'${arg.replaceAll("'", String.raw`'\''`)}'`;

/** Returns the pattern of an output with these lines, in which … stands for any text. */
export const patternOf = (lines: readonly string[]): RegExp => {
  const literal = lines.map((line) => line.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${literal.join("\n").replaceAll("…", ".+")}\n$`);
};
